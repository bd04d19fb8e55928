#include "als/decompose.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "als/held_error.h"
#include "als/nvecs.h"
#include "base/clock.h"
#include "ranks/half_tensor.h"
#include "ranks/model_collect.h"

#define PATIENCE 10 /* times as many iterations as the whole are allowed to a half */

/* Takes the half of t that a run is on. */
static enum status take_half(struct rank_tensor *half, const struct rank_tensor *t,
                             const struct run_list *list, int part, struct progress *progress,
                             struct error *error)
{
    const struct halves *h = &list->halves;
    char which[64];
    if (h->seed > 0)
        snprintf(which, sizeof which, "seed %ju", (uintmax_t)h->seed);
    else
        snprintf(which, sizeof which, "slices %d, %d, ...", part, part + 2);
    progress_note(progress, "half %d of mode %d (%s): %ju nonzeros", part, h->mode, which,
                  (uintmax_t)list->nonzeros[part - 1]);
    return half_tensor_take(half, t, h, part - 1, error);
}

static enum status build(struct backend *b, struct rank_tensor *t, struct progress *progress,
                         struct error *error)
{
    progress_stage(progress, "building");
    TRY(backend_build(b, t, progress, error));
    if (b->options.spends) /* the backend has its own copy */
        rank_tensor_free_nonzeros(t);
    int orderings = plan_orderings(&b->plan);
    progress_done(progress, "%d ordering%s%s", orderings, orderings == 1 ? "" : "s",
                  t->comm->size > 1 ? " on each rank" : "");
    return STATUS_OK;
}

/* What ALS does in a run on `on`, a part of the tensor. A half that has not converged proves
 * nothing, and with fewer slices ALS often takes longer. */
static struct cpals_options options_for(const struct decomposition *d, const struct runs *s,
                                        const struct run *run, const struct rank_tensor *on)
{
    const struct run *best = runs_best(s, run->part);
    struct cpals_options als = d->als;
    if (run->guess.kind == GUESS_RANDOM || run->guess.kind == GUESS_NORMAL)
        als.random = &run->guess;
    als.held = on->held.all_listed > 0 ? &on->held : NULL;
    if (best)
        als.core_above = best->result.fit;
    if (on->comm->rank > 0 || run->part > 0)
        als.trace = NULL;
    if (run->trial || run->part > 0)
        als.saving = NULL;
    if (run->part > 0) {
        als.resume = NULL;
        als.early_stop = 0;
        als.core_consistency = false;
        if (als.tolerance > 0)
            als.max_iterations =
                als.max_iterations < INT_MAX / PATIENCE ? als.max_iterations * PATIENCE : INT_MAX;
    }
    return als;
}

/* Makes a run on *b; *rows = this rank's rows of its model. */
static enum status make_run(struct backend *b, const struct cpals_options *als, struct run *run,
                            struct ktensor *rows, struct progress *progress, struct error *error)
{
    const struct part *part = &b->ranks->part;
    const struct problem *problem = &b->options.problem;
    const struct initial_guess *guess = &run->guess;
    TRY(ktensor_create_part(rows, part, problem->rank, error));
    if (guess->kind == GUESS_NVECS)
        TRY(nvecs_start(rows, b, guess->seed, progress, error));
    if (guess->kind == GUESS_MODEL)
        initial_guess_fill(rows, &part->whole, guess, problem->rules.nonneg);
    const double before = rank_rows_seconds(b->ranks);
    cpals_iterate(b, rows, als, progress, &run->result, error);
    run->communication = rank_rows_seconds(b->ranks) - before;
    TRY(error->status);
    return cpals_store(b, rows, als, progress, &run->result, error);
}

/* Notes what has come out of a run. A numerical breakdown, which happens on all ranks at the same
 * step because all find it in the same sums over the ranks, is no reason against other runs. */
static enum status note_run(struct runs *s, struct run *run, struct progress *progress,
                            struct error *error)
{
    const struct starts *starts = &s->starts[run->part];
    struct cpals_result *r = &run->result;
    const bool broke_down = error->status == STATUS_NUMERICAL;
    if (broke_down) {
        r->stop = CPALS_BREAKDOWN;
        r->breakdown = *error;
        *error = (struct error){0};
    }
    if (error->status != STATUS_OK)
        return starts->asked > 1 && !run->trial
                   ? error_prefix(error, "start %d: ", starts->made + 1)
                   : error->status;
    if (run->trial && broke_down)
        r->held.value = INFINITY;
    runs_note(s, run);
    if (run->trial)
        progress_done(progress, "ridge %g: held-out error %.4g", run->ridge, r->held.value);
    else if (broke_down && starts->asked > 1)
        progress_done(progress, "start %d broke down: %s", starts->made, r->breakdown.message);
    return STATUS_OK;
}

/* Collects the rows of the last run's model, if it is kept; frees them. */
static enum status collect(struct runs *s, struct ktensor *rows, const struct rank_tensor *t,
                           bool spread, struct error *error)
{
    const struct run *last = &s->run[s->count - 1];
    struct ktensor *model = &s->model[s->count - 1];
    const bool has_model = !last->trial && last->result.stop != CPALS_BREAKDOWN;
    if (has_model && spread) {
        *model = *rows;
        *rows = (struct ktensor){0};
    } else if (has_model) {
        model_collect(model, rows, &t->rows, error);
    }
    ktensor_free(rows);
    return error->status;
}

/* What the runs on the whole tensor have taken, whose backend is still open. */
static void fill_report(struct rank_report *report, struct backend *b, const struct runs *s)
{
    struct backend_built built;
    backend_built(b, &built);
    *report = (struct rank_report){.nnz = built.nnz};
    for (int i = 0; i < s->count; i++)
        report->communication += s->run[i].communication;
    memcpy(report->operation, backend_times(b)->seconds, sizeof report->operation);
    for (int n = 0; n < b->order; n++)
        memcpy(report->kernel[n], built.kernel[n].name, sizeof report->kernel[n]);
}

enum status decompose(struct backend *b, struct rank_tensor *t, const struct decomposition *d,
                      struct runs *s, struct rank_report *report, struct error *error)
{
    const struct backend_kind *kind = b->kind;
    struct backend_options options = b->options;
    struct fit_trace kept = {0}, *trace = t->comm->rank == 0 ? d->als.trace : NULL;
    struct rank_tensor half = {0}, *on = t; /* `on`: the part that *b has */
    struct ktensor rows = {0};
    struct run run, next;
    bool open = false;
    double size, halves_began = 0;
    if (s->list.choose_ridge) {
        TRY_OR(failed, held_error_size(&size, &t->held, t->comm, error));
        ridge_search_begin(&s->ridge, options.problem.ridge_scale, size, b->order);
    }
    for (bool more = runs_next(s, &run); more; run = next) {
        if (!open && run.part > 0) {
            halves_began = run.part == 1 ? clock_now() : halves_began;
            on = &half;
            TRY_OR(done, take_half(on, t, &s->list, run.part, d->progress, error));
            TRY_OR(done, backend_prepare(b, kind, on, &options, d->progress, error));
        }
        if (!open) {
            TRY_OR(failed, build(b, on, d->progress, error));
            if (run.part == 0 && d->opened)
                d->opened(d->context, b);
        }
        if (run.ridge > 0)
            backend_take_ridge(b, run.ridge);
        const struct cpals_options als = options_for(d, s, &run, on);
        make_run(b, &als, &run, &rows, d->progress, error);
        TRY_OR(failed, note_run(s, &run, d->progress, error));
        if (trace && runs_best(s, 0) == &s->run[s->count - 1])
            fit_trace_swap(trace, &kept);
        more = runs_next(s, &next);
        open = more && next.part == run.part;
        if (!open && run.part == 0) {
            const uint64_t bytes = coo_bytes(t->shape.order, t->input.x.nnz);
            fill_report(report, b, s);
            options = b->options; /* of a half, beside which the nonzeros of the whole stay */
            options.spends = true;
            if (options.host_memory > 0)
                options.host_memory = options.host_memory > bytes ? options.host_memory - bytes : 1;
        }
        if (!open) { /* makes room for the last model */
            backend_close(b);
            half_tensor_free(&half);
        }
        TRY_OR(failed, collect(s, &rows, t, d->spread, error));
    }
    if (s->starts[1].made > 0)
        report->halves = clock_now() - halves_began;
    if (trace)
        fit_trace_swap(trace, &kept);
    if (runs_check(s, error) != STATUS_OK)
        comm_end_phase(t->comm, error);
    goto done;
failed: /* the other ranks learn of it before the backend closes */
    comm_abort(t->comm, error);
done:
    backend_close(b);
    half_tensor_free(&half);
    ktensor_free(&rows);
    fit_trace_free(&kept);
    return error->status;
}
