#include "als/runs.h"

#include <math.h>

#include "base/memory.h"
#include "model/ktensor_match.h"

/* A trial that is ended becomes a start. */
static size_t most_runs(const struct run_list *list)
{
    const int parts = list->halves.mode > 0 ? RUNS_PARTS : 1;
    return (size_t)parts * (size_t)list->starts + (list->choose_ridge ? RIDGE_TRIALS : 0);
}

enum status runs_create(struct runs *s, const struct run_list *list, struct ktensor *model,
                        struct error *error)
{
    *s = (struct runs){.list = *list, .model = model, .borrows = model != NULL};
    for (int part = 0; part < RUNS_PARTS; part++)
        s->starts[part].asked = part == 0 || list->halves.mode > 0 ? list->starts : 0;
    s->run = memory_zeros(most_runs(list), sizeof *s->run, error);
    if (!model)
        s->model = memory_zeros(most_runs(list), sizeof *s->model, error);
    if (error->status != STATUS_OK)
        runs_free(s);
    return error->status;
}

void runs_free(struct runs *s)
{
    if (!s->borrows) {
        for (size_t i = 0; s->model && i < most_runs(&s->list); i++)
            ktensor_free(&s->model[i]);
        memory_free(s->model);
    }
    memory_free(s->run);
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
    for (; next->part < RUNS_PARTS; next->part++) {
        const struct starts *of = &s->starts[next->part];
        if (of->made < of->asked) {
            next->guess.seed += (uint64_t)next->part * (uint64_t)of->asked + (uint64_t)of->made;
            if (of->made > 0 && list->guess.kind != GUESS_NORMAL)
                next->guess.kind = GUESS_RANDOM;
            return true;
        }
        if (of->modelled == 0)
            return false;
    }
    return false;
}

static bool is_better(const struct cpals_result *a, const struct cpals_result *b)
{
    return a->held.entries > 0 ? a->held.value < b->held.value : a->fit > b->fit;
}

void runs_note(struct runs *s, const struct run *run)
{
    struct starts *of = &s->starts[run->part];
    struct run *noted = &s->run[s->count++];
    *noted = *run;
    if (run->trial) {
        ridge_search_note(&s->ridge, run->ridge, run->result.held.value);
        if (!runs_ended(s))
            return;
        ridge_search_end(&s->ridge, run->ridge);
        noted = &s->run[s->count++];
        *noted = *run;
        noted->trial = false;
    }
    if (of->made++ == 0)
        of->start = noted;
    if (run->result.stop == CPALS_BREAKDOWN)
        return;
    if (of->modelled++ == 0 || is_better(&run->result, &of->start[of->best].result))
        of->best = of->made - 1;
}

const struct run *runs_best(const struct runs *s, int part)
{
    const struct starts *of = &s->starts[part];
    return of->modelled > 0 ? &of->start[of->best] : NULL;
}

enum status runs_check(const struct runs *s, struct error *error)
{
    const struct starts *of = &s->starts[0];
    if (of->made == 0 || of->modelled > 0)
        return STATUS_OK;
    const char *why = of->start[0].result.breakdown.message;
    if (of->asked == 1)
        return error_set(error, STATUS_NUMERICAL, "%s", why);
    return error_set(error, STATUS_NUMERICAL, "none of %d starts gave a model; start 1: %s",
                     of->made, why);
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

enum status runs_take_best(struct runs *s, int part, struct ktensor *best, struct error *error)
{
    const struct starts *of = &s->starts[part];
    const ptrdiff_t first = of->start - s->run;
    struct run *start = &s->run[first];
    struct ktensor *model = &s->model[first];
    for (int i = 0; i < of->made && error->status == STATUS_OK; i++) {
        if (i == of->best)
            start[i].score = 1;
        else if (start[i].result.stop != CPALS_BREAKDOWN)
            ktensor_score(&model[i], &model[of->best], 0, &start[i].score, NULL, error);
    }
    *best = model[of->best];
    model[of->best] = (struct ktensor){0};
    for (int i = 0; i < of->made; i++)
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

struct starts_agreement starts_agreement(const struct starts *s)
{
    struct starts_agreement a = {.others = s->modelled - 1};
    double fit = s->start[s->best].result.fit;
    for (int i = 0; i < s->made; i++) {
        if (i == s->best || s->start[i].result.stop == CPALS_BREAKDOWN)
            continue;
        bool same = s->start[i].score >= STARTS_SAME;
        a.agree += same;
        a.different += !same && s->start[i].result.fit > fit - STARTS_EQUAL_FIT * fabs(fit);
    }
    return a;
}
