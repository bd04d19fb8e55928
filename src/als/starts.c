#include "als/starts.h"

#include <math.h>

#include "als/fit_trace.h"
#include "base/memory.h"
#include "model/ktensor_match.h"

enum status starts_create(struct starts *s, int asked, uint64_t seed, struct ktensor *model,
                          struct error *error)
{
    *s = (struct starts){.asked = asked, .model = model, .borrows = model != NULL};
    s->start = memory_zeros((size_t)asked, sizeof *s->start, error);
    if (!model)
        s->model = memory_zeros((size_t)asked, sizeof *s->model, error);
    if (error->status != STATUS_OK) {
        starts_free(s);
        return error->status;
    }
    for (int i = 0; i < asked; i++)
        s->start[i].seed = seed + (uint64_t)i;
    return STATUS_OK;
}

static void free_models(struct starts *s)
{
    for (int i = 0; s->model && i < s->asked; i++)
        ktensor_free(&s->model[i]);
}

void starts_free(struct starts *s)
{
    if (!s->borrows) {
        free_models(s);
        memory_free(s->model);
    }
    memory_free(s->start);
    fit_trace_free(&s->trace);
    *s = (struct starts){0};
}

static bool is_better(const struct cpals_result *a, const struct cpals_result *b)
{
    return a->held.entries > 0 ? a->held.value < b->held.value : a->fit > b->fit;
}

void starts_note(struct starts *s, const struct cpals_result *result, struct fit_trace *trace)
{
    s->start[s->made].result = *result;
    if (s->modelled == 0 || is_better(result, &s->start[s->best].result))
        s->best = s->made;
    s->modelled++;
    if (trace && s->best == s->made)
        fit_trace_swap(trace, &s->trace);
    s->made++;
}

bool starts_note_breakdown(struct starts *s, const struct cpals_result *result,
                           struct progress *progress, struct error *error)
{
    struct cpals_result *noted = &s->start[s->made].result;
    if (error->status != STATUS_NUMERICAL)
        return false;
    *noted = *result;
    noted->stop = CPALS_BREAKDOWN;
    noted->breakdown = *error;
    *error = (struct error){0};
    s->made++;
    if (s->asked > 1)
        progress_done(progress, "start %d broke down: %s", s->made, noted->breakdown.message);
    return true;
}

enum status starts_check(const struct starts *s, struct error *error)
{
    if (s->made == 0 || s->modelled > 0)
        return STATUS_OK;
    const char *why = s->start[0].result.breakdown.message;
    if (s->asked == 1)
        return error_set(error, STATUS_NUMERICAL, "%s", why);
    return error_set(error, STATUS_NUMERICAL, "none of %d starts gave a model; start 1: %s",
                     s->made, why);
}

void starts_give_trace(struct starts *s, struct fit_trace *trace)
{
    if (trace)
        fit_trace_swap(trace, &s->trace);
}

bool starts_ended(const struct starts *s)
{
    enum cpals_stop stop = s->made > 0 ? s->start[s->made - 1].result.stop : CPALS_GOES_ON;
    return stop == CPALS_INTERRUPTED || stop == CPALS_TIME_LIMIT;
}

bool starts_go_on(const struct starts *s)
{
    return s->made < s->asked && !starts_ended(s);
}

struct cpals_options starts_options(const struct starts *s, const struct cpals_options *options)
{
    struct cpals_options of = *options;
    if (s->modelled > 0)
        of.core_above = s->start[s->best].result.fit;
    return of;
}

enum status starts_take_best(struct starts *s, struct ktensor *best, struct error *error)
{
    struct ktensor *of = &s->model[s->best];
    s->start[s->best].score = 1;
    for (int i = 0; i < s->made; i++) {
        if (i == s->best || s->start[i].result.stop == CPALS_BREAKDOWN)
            continue;
        TRY_OR(done, ktensor_score(&s->model[i], of, 0, &s->start[i].score, NULL, error));
    }
done:
    *best = *of;
    *of = (struct ktensor){0};
    free_models(s);
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
