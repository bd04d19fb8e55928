#include "als/runs.h"

#include <math.h>

#include "base/memory.h"

/* A trial that is ended becomes a start. */
size_t run_list_most(const struct run_list *list)
{
    const int replicates = slice_parts_replicates(&list->parts);
    return (size_t)(1 + replicates) * (size_t)list->starts +
           (list->choose_ridge ? RIDGE_TRIALS : 0);
}

uint64_t run_list_models(const struct run_list *list)
{
    const uint64_t whole = list->until_found ? 2 : (uint64_t)list->starts;
    return whole + (uint64_t)slice_parts_replicates(&list->parts);
}

enum status runs_create(struct runs *s, const struct run_list *list, struct ktensor *model,
                        struct error *error)
{
    const int replicates = slice_parts_replicates(&list->parts);
    *s = (struct runs){.list = *list, .model = model, .borrows = model != NULL};
    s->starts = memory_zeros((size_t)(1 + replicates), sizeof *s->starts, error);
    for (int k = 0; s->starts && k <= replicates; k++)
        s->starts[k] = (struct starts){.asked = list->starts, .until_found = list->until_found};
    s->run = memory_zeros(run_list_most(list), sizeof *s->run, error);
    if (!model)
        s->model = memory_zeros(run_list_most(list), sizeof *s->model, error);
    if (error->status != STATUS_OK)
        runs_free(s);
    return error->status;
}

void runs_free(struct runs *s)
{
    if (!s->borrows) {
        for (size_t i = 0; s->model && i < run_list_most(&s->list); i++)
            ktensor_free(&s->model[i]);
        memory_free(s->model);
    }
    memory_free(s->run, s->starts);
    *s = (struct runs){0};
}

bool runs_next(const struct runs *s, struct run *next)
{
    const struct run_list *list = &s->list;
    *next = (struct run){.guess = list->guess};
    if (runs_ended(s))
        return false;
    next->trial = list->choose_ridge && ridge_search_next(&s->ridge, &next->ridge);
    if (next->trial)
        return true;
    next->ridge = s->ridge.best;
    for (; next->replicate <= slice_parts_replicates(&list->parts); next->replicate++) {
        const struct starts *starts = &s->starts[next->replicate];
        if (!starts_complete(starts)) {
            next->guess.seed +=
                (uint64_t)next->replicate * (uint64_t)starts->asked + (uint64_t)starts->made;
            if (starts->made > 0 && list->guess.kind != GUESS_NORMAL)
                next->guess.kind = GUESS_RANDOM;
            return true;
        }
        if (starts->modelled == 0)
            return false;
    }
    return false;
}

bool runs_better(const struct cpals_result *a, const struct cpals_result *b)
{
    return a->holdout_error.entries > 0 ? a->holdout_error.value < b->holdout_error.value
                                        : a->fit > b->fit;
}

void runs_note(struct runs *s, const struct run *run)
{
    struct starts *starts = &s->starts[run->replicate];
    struct run *noted = &s->run[s->count++];
    *noted = *run;
    if (run->trial) {
        ridge_search_note(&s->ridge, run->ridge, run->result.holdout_error.value);
        if (!runs_ended(s))
            return;
        s->ridge.best = run->ridge;
        s->ridge.ended = true;
        noted = &s->run[s->count++];
        *noted = *run;
        noted->trial = false;
    }
    if (starts->made++ == 0)
        starts->start = noted;
    if (run->result.stop == CPALS_BREAKDOWN)
        return;
    if (starts->modelled++ == 0 || runs_better(&run->result, &starts->start[starts->best].result))
        starts->best = starts->made - 1;
}

void runs_compare(struct runs *s, const struct run *before, double score)
{
    struct run *last = &s->run[s->count - 1], *first = last - (s->starts[last->replicate].made - 1);
    const bool better = runs_best(s, last->replicate) == last;
    last->score = better ? 1 : score;
    for (struct run *run = first; better && run < last; run++)
        run->score = run == before ? score : score >= STARTS_SAME ? run->score : NAN;
}

const struct run *runs_best(const struct runs *s, int replicate)
{
    const struct starts *starts = &s->starts[replicate];
    return starts->modelled > 0 ? &starts->start[starts->best] : NULL;
}

enum status runs_check(const struct runs *s, struct error *error)
{
    const struct starts *starts = &s->starts[0];
    if (starts->made == 0 || starts->modelled > 0)
        return STATUS_OK;
    const char *why = starts->start[0].result.breakdown.message;
    if (starts->asked == 1)
        return error_set(error, STATUS_NUMERICAL, "%s", why);
    return error_set(error, STATUS_NUMERICAL, "none of %d starts gave a model; start 1: %s",
                     starts->made, why);
}

bool runs_ended(const struct runs *s)
{
    enum cpals_stop stop = s->count > 0 ? s->run[s->count - 1].result.stop : CPALS_GOES_ON;
    return stop == CPALS_INTERRUPTED || stop == CPALS_TIME_LIMIT;
}

int runs_interrupted(const struct runs *s)
{
    return s->count > 0 ? s->run[s->count - 1].result.interrupted : 0;
}

enum status runs_take_best(struct runs *s, int replicate, struct ktensor *best, struct error *error)
{
    const struct starts *starts = &s->starts[replicate];
    const ptrdiff_t first = starts->start - s->run;
    struct run *start = &s->run[first];
    struct ktensor *model = &s->model[first];
    for (int i = 0; i < starts->made && error->status == STATUS_OK; i++) {
        if (i == starts->best)
            start[i].score = 1;
        else if (model[i].rank > 0)
            ktensor_score(&model[i], &model[starts->best], 0, &start[i].score, NULL, error);
    }
    *best = model[starts->best];
    model[starts->best] = (struct ktensor){0};
    for (int i = 0; i < starts->made; i++)
        ktensor_free(&model[i]);
    return error->status;
}

double starts_spread(const struct starts *s, uint64_t entries)
{
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < s->made; i++) {
        const struct cpals_result *r = &s->start[i].result;
        if (r->stop == CPALS_BREAKDOWN)
            continue;
        least = fmin(least, r->log_likelihood);
        most = fmax(most, r->log_likelihood);
    }
    return most > least ? (most - least) / (double)entries : 0;
}

/* Whether start i, which has a model, fits as well as the best one. */
static bool fits_as_well(const struct starts *s, int i)
{
    const struct cpals_result *r = &s->start[i].result, *best = &s->start[s->best].result;
    return best->fit - r->fit <=
           STARTS_EQUAL_FIT * fabs(best->fit) + best->trust.noise + r->trust.noise;
}

int starts_found(const struct starts *s)
{
    int found = s->modelled > 0;
    for (int i = 0; i < s->made; i++)
        found += i != s->best && s->start[i].result.stop != CPALS_BREAKDOWN &&
                 s->start[i].score >= STARTS_SAME && fits_as_well(s, i);
    return found;
}

bool starts_complete(const struct starts *s)
{
    return s->made == s->asked || (s->until_found && starts_found(s) >= STARTS_ENOUGH);
}

struct starts_agreement starts_agreement(const struct starts *s)
{
    struct starts_agreement a = {.others = s->modelled - 1};
    for (int i = 0; i < s->made; i++) {
        if (i == s->best || s->start[i].result.stop == CPALS_BREAKDOWN)
            continue;
        bool same = s->start[i].score >= STARTS_SAME;
        a.agree += same;
        a.different += !same && fits_as_well(s, i);
    }
    return a;
}

#define BETTER .999 /* an error that falls by less than this factor has not become smaller */
#define ENOUGH .001 /* of the size of the values: no other ridge is worth a run            */

/* 1, 3, 10, 30, ... and downwards .3, .1, .03, ... */
static double ridge_at(int step)
{
    const int tens = step >= 0 ? step / 2 : (step - 1) / 2;
    const double digit = step % 2 == 0 ? 1 : 3;
    return tens >= 0 ? digit * pow(10, tens) : digit / pow(10, -tens);
}

void ridge_search_begin(struct ridge_search *s, enum ridge_scale scale, double size, int order)
{
    /* A balanced ridge counts beside squared misfits, but multiplies squares of factor entries,
     * which are as large as the 2/N-th power of the tensor's. */
    const double first = scale == RIDGE_BALANCED  ? (size > 0 ? pow(size, 2 - 2.0 / order) : 1)
                         : scale == RIDGE_COUNTED ? .03
                                                  : .001;
    const double at = 2 * log10(first);
    *s = (struct ridge_search){.least = INFINITY, .enough = ENOUGH * size, .direction = 1};
    s->step = (int)lround(fmin(fmax(at, -600), 600));
    s->best = ridge_at(s->step);
}

bool ridge_search_next(const struct ridge_search *s, double *ridge)
{
    *ridge = s->count == 0 ? s->best : ridge_at(s->step + s->direction);
    return !s->ended && s->count < RIDGE_TRIALS;
}

void ridge_search_note(struct ridge_search *s, double ridge, double holdout_error)
{
    const bool first = s->count == 0, better = holdout_error < BETTER * s->least;
    s->ridge[s->count] = ridge;
    s->holdout_error[s->count++] = holdout_error;
    if (holdout_error < s->least) {
        s->best = ridge;
        s->least = holdout_error;
    }
    if (better && !first)
        s->step += s->direction;
    else if (s->count == 2)
        s->direction = -1;
    else if (!first)
        s->ended = true;
    if (s->least < s->enough)
        s->ended = true;
}
