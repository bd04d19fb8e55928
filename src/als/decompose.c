#include "als/decompose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "als/held_error.h"
#include "als/nvecs.h"
#include "ranks/model_collect.h"

/* The state of decompose on one rank. */
struct work {
    struct backend *b;
    const struct rank_tensor *tensor;
    const struct decomposition *d;
    struct starts *starts;
    struct ktensor part;  /* this rank's rows of the last start's model, until it is collected */
    double communication; /* struct rank_report */
};

static enum status build(struct backend *b, struct rank_tensor *t, const struct decomposition *d,
                         struct error *error)
{
    progress_stage(d->progress, "building");
    TRY(backend_build(b, t, d->progress, error));
    if (b->options.spends) /* the backend has its own copy */
        rank_tensor_free_nonzeros(t);
    int orderings = plan_orderings(&b->plan);
    progress_done(d->progress, "%d ordering%s%s", orderings, orderings == 1 ? "" : "s",
                  t->comm->size > 1 ? " on each rank" : "");
    if (d->opened)
        d->opened(d->context, b);
    return STATUS_OK;
}

/* Starts after the first one are random. */
static struct initial_guess guess_of(const struct work *w)
{
    const struct starts *s = w->starts;
    struct initial_guess guess = w->d->guess;
    guess.seed = s->start[s->made].seed;
    if (s->made > 0 && guess.kind != GUESS_NORMAL)
        guess.kind = GUESS_RANDOM;
    return guess;
}

/* Room for the model, filled with the initial guess unless the backend makes that. */
static enum status make_guess(struct work *w, const struct initial_guess *guess,
                              struct error *error)
{
    const struct part *part = &w->tensor->rows.part;
    const struct problem *problem = &w->b->options.problem;
    TRY(ktensor_create_part(&w->part, part, problem->rank, error));
    if (guess->kind == GUESS_NVECS)
        return nvecs_start(&w->part, w->b, guess->seed, w->d->progress, error);
    if (guess->kind == GUESS_MODEL)
        initial_guess_fill(&w->part, &part->whole, guess, problem->rules.nonneg);
    return STATUS_OK;
}

/* Makes a start; w->part = this rank's rows of its model. */
static enum status run_start(struct work *w, const struct cpals_options *options,
                             struct cpals_result *result, struct error *error)
{
    const struct decomposition *d = w->d;
    const struct initial_guess guess = guess_of(w);
    struct cpals_options als = *options;
    als.random = guess.kind == GUESS_RANDOM || guess.kind == GUESS_NORMAL ? &guess : NULL;
    als.held = w->tensor->held.all_listed > 0 ? &w->tensor->held : NULL;
    TRY(make_guess(w, &guess, error));
    double before = rank_rows_seconds(w->b->ranks);
    cpals_iterate(w->b, &w->part, &als, d->progress, result, error);
    w->communication += rank_rows_seconds(w->b->ranks) - before;
    TRY(error->status);
    return cpals_store(w->b, &w->part, &als, d->progress, result, error);
}

/* Where rank 0 keeps the fits of a run. */
static struct fit_trace *trace_of(const struct work *w)
{
    return w->tensor->comm->rank == 0 ? w->d->als.trace : NULL;
}

/* Makes the next start, and notes its result. A numerical breakdown happens on all ranks at the
 * same step, because all find it in the same sums over the ranks. */
static enum status make_start(struct work *w, struct error *error)
{
    struct starts *s = w->starts;
    struct cpals_result result = {0};
    struct cpals_options als = starts_options(s, &w->d->als);
    als.trace = trace_of(w);
    if (run_start(w, &als, &result, error) == STATUS_OK) {
        starts_note(s, &result, als.trace);
        return STATUS_OK;
    }
    if (starts_note_breakdown(s, &result, w->d->progress, error))
        return STATUS_OK;
    return s->asked > 1 ? error_prefix(error, "start %d: ", s->made + 1) : error->status;
}

/* Collects the rows of the last start's model, if it has one. */
static enum status collect_last(struct work *w, struct error *error)
{
    const struct rank_rows *rows = &w->tensor->rows;
    int last = w->starts->made - 1;
    if (last < 0 || w->starts->start[last].result.stop == CPALS_BREAKDOWN)
        return STATUS_OK;
    struct ktensor *model = &w->starts->model[last];
    if (!w->d->spread)
        return model_collect(model, &w->part, rows, error);
    *model = w->part;
    w->part = (struct ktensor){0};
    return STATUS_OK;
}

/* A run from the first start with this ridge. Its model is not kept, unless a signal or the time
 * limit ends it: then it is the result. A breakdown is no reason against other ridges. */
static enum status try_ridge(struct work *w, double ridge, struct error *error)
{
    struct ridge_search *search = &w->starts->ridge;
    struct cpals_result result = {0};
    struct cpals_options als = w->d->als;
    als.trace = trace_of(w);
    als.saving = NULL;
    backend_take_ridge(w->b, ridge);
    if (run_start(w, &als, &result, error) == STATUS_NUMERICAL) {
        *error = (struct error){0};
        result.held.value = INFINITY;
    }
    TRY(error->status);
    progress_done(w->d->progress, "ridge %g: held-out error %.4g", ridge, result.held.value);
    ridge_search_note(search, ridge, result.held.value);
    if (result.stop == CPALS_INTERRUPTED || result.stop == CPALS_TIME_LIMIT) {
        ridge_search_end(search, ridge);
        starts_note(w->starts, &result, als.trace);
        return STATUS_OK;
    }
    ktensor_free(&w->part);
    return STATUS_OK;
}

static enum status choose_ridge(struct work *w, struct error *error)
{
    const struct held_out *held = &w->tensor->held;
    const struct problem *problem = &w->b->options.problem;
    struct ridge_search *search = &w->starts->ridge;
    double size, ridge;
    TRY(held_error_size(&size, held, w->tensor->comm, error));
    ridge_search_begin(search, problem->ridge_scale, size, w->b->order);
    while (ridge_search_next(search, &ridge))
        TRY(try_ridge(w, ridge, error));
    backend_take_ridge(w->b, search->best);
    return STATUS_OK;
}

static void fill_report(struct rank_report *report, struct work *w)
{
    struct backend_built built;
    backend_built(w->b, &built);
    *report = (struct rank_report){.nnz = built.nnz, .communication = w->communication};
    memcpy(report->operation, backend_times(w->b)->seconds, sizeof report->operation);
    for (int n = 0; n < w->b->order; n++)
        memcpy(report->kernel[n], built.kernel[n].name, sizeof report->kernel[n]);
}

enum status decompose(struct backend *b, struct rank_tensor *t, const struct decomposition *d,
                      struct starts *s, struct rank_report *report, struct error *error)
{
    struct work w = {.b = b, .tensor = t, .d = d, .starts = s};
    TRY_OR(failed, build(b, t, d, error));
    if (d->choose_ridge)
        TRY_OR(failed, choose_ridge(&w, error));
    while (starts_go_on(s)) {
        TRY_OR(failed, collect_last(&w, error));
        ktensor_free(&w.part);
        TRY_OR(failed, make_start(&w, error));
    }
    starts_give_trace(s, trace_of(&w));
    fill_report(report, &w);
    backend_close(b); /* makes room for the last model */
    TRY_OR(failed, collect_last(&w, error));
    ktensor_free(&w.part);
    if (starts_check(s, error) != STATUS_OK)
        return comm_end_phase(t->comm, error);
    return STATUS_OK;
failed: /* the other ranks learn of it before the backend closes */
    comm_abort(t->comm, error);
    backend_close(b);
    ktensor_free(&w.part);
    return error->status;
}
