#include "als/decompose.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "als/holdout_error.h"
#include "base/clock.h"
#include "base/memory.h"
#include "lapack/symmetric_eigen.h"
#include "model/factor_columns.h"
#include "problem/initial_guess.h"
#include "ranks/model_collect.h"
#include "ranks/replicate_tensor.h"

#define PATIENCE 10 /* times as many iterations as the whole are allowed to a replicate */

/* Takes the replicate of t, from 1, that a run is on. */
static enum status take_replicate(struct rank_tensor *replicate, const struct rank_tensor *t,
                                  const struct run_list *list, int number,
                                  struct progress *progress, struct error *error)
{
    const struct slice_parts *s = &list->parts;
    const uint64_t nonzeros = list->nonzeros[number - 1],
                   seed = s->seed + (uint64_t)slice_parts_division(s, number - 1);
    const bool halves = slice_parts_are_halves(s);
    const int part = halves ? number : slice_parts_left_out(s, number - 1) + 1;
    char which[64];
    if (seed > 0)
        snprintf(which, sizeof which, "seed %ju", (uintmax_t)seed);
    else
        snprintf(which, sizeof which, "slices %d, %d, ...", part, part + s->parts);
    if (halves)
        progress_note(progress, "half %d of mode %d (%s): %ju nonzeros", part, s->mode, which,
                      (uintmax_t)nonzeros);
    else
        progress_note(progress, "replicate %d of %d, without part %d of mode %d (%s): %ju nonzeros",
                      number, slice_parts_replicates(s), part, s->mode, which, (uintmax_t)nonzeros);
    return replicate_tensor_take(replicate, t, s, number - 1, error);
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

/* What ALS does in a run on `on`, the tensor or a replicate. One that has not converged proves
 * nothing, and with fewer slices ALS often takes longer. */
static struct cpals_options options_for(const struct decomposition *d, const struct run *run,
                                        const struct rank_tensor *on)
{
    struct cpals_options als = d->als;
    if (run->guess.kind == GUESS_RANDOM || run->guess.kind == GUESS_NORMAL)
        als.random = &run->guess;
    als.holdout_set = on->holdout_set.all_listed > 0 ? &on->holdout_set : NULL;
    if (on->comm->rank > 0 || run->replicate > 0)
        als.trace = NULL;
    if (run->trial || run->replicate > 0) {
        als.saving = NULL;
        als.core_consistency = false;
    }
    if (run->replicate > 0) {
        als.resume = NULL;
        als.early_stop = 0;
        als.components = false;
        if (als.tolerance > 0)
            als.max_iterations =
                als.max_iterations < INT_MAX / PATIENCE ? als.max_iterations * PATIENCE : INT_MAX;
    }
    return als;
}

/* Makes a run on *b; *rows = this rank's rows of its model, unless these go to als.whole, which is
 * empty. The core consistency takes time: only that of a better model than `best`, which may be
 * NULL, is computed. */
static enum status make_run(struct backend *b, struct cpals_options als, struct run *run,
                            const struct run *best, struct ktensor *rows, struct progress *progress,
                            struct error *error)
{
    const struct part *part = &b->ranks->part;
    const struct problem *problem = &b->options.problem;
    const struct initial_guess *guess = &run->guess;
    TRY(ktensor_create_part(rows, part, problem->rank, error));
    if (als.whole)
        TRY(model_whole_create(als.whole, problem->rank, b->ranks, error));
    if (guess->kind == GUESS_NVECS)
        TRY(nvecs_start(rows, b, guess->seed, progress, error));
    if (guess->kind == GUESS_MODEL)
        initial_guess_fill(rows, &part->whole, guess, problem->rules.nonneg);
    const double before = rank_rows_seconds(b->ranks);
    cpals_iterate(b, rows, &als, progress, &run->result, error);
    run->communication = rank_rows_seconds(b->ranks) - before;
    TRY(error->status);
    als.core_consistency &= !best || runs_better(&run->result, &best->result);
    return cpals_store(b, rows, &als, progress, &run->result, error);
}

/* Notes what has come out of a run. A numerical breakdown, which happens on all ranks at the same
 * step because all find it in the same sums over the ranks, is no reason against other runs. */
static enum status note_run(struct runs *s, struct run *run, struct progress *progress,
                            struct error *error)
{
    const struct starts *starts = &s->starts[run->replicate];
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
        r->holdout_error.value = INFINITY;
    runs_note(s, run);
    if (run->trial)
        progress_done(progress, "ridge %g: held-out error %.4g", run->ridge,
                      r->holdout_error.value);
    else if (broke_down && starts->asked > 1)
        progress_done(progress, "start %d broke down: %s", starts->made, r->breakdown.message);
    return STATUS_OK;
}

/* With until_found: compares the last model with the best one before it, if there are both, and
 * frees the worse one. Rank 0 has the models whole; all ranks learn the score. */
static enum status compare(struct runs *s, const struct run *before, struct comm *c,
                           struct error *error)
{
    const struct run *last = &s->run[s->count - 1];
    struct ktensor *model = s->model + (last - s->run);
    double score = 0;
    if (!before || last->result.stop == CPALS_BREAKDOWN)
        return STATUS_OK;
    struct ktensor *best = s->model + (before - s->run);
    if (c->rank == 0)
        TRY(ktensor_score(model, best, 0, &score, NULL, error));
    TRY(comm_bcast(c, 0, &score, sizeof score, error));
    runs_compare(s, before, score);
    if (c->rank == 0 || !s->borrows)
        ktensor_free(runs_best(s, last->replicate) == last ? best : model);
    return STATUS_OK;
}

/* Collects the rows of the last run's model, if the model is kept; where they have been stored in
 * one model (`whole`), completes that. On a replicate the best model so far is kept, and the one
 * before gives way (with until_found, `compare` decides). Frees the rows. */
static enum status collect(struct runs *s, struct ktensor *rows, const struct rank_tensor *t,
                           bool spread, bool whole, struct error *error)
{
    const struct run *last = &s->run[s->count - 1];
    const struct starts *starts = &s->starts[last->replicate];
    struct ktensor *model = &s->model[s->count - 1];
    const bool shared = t->comm->shares_memory, is_own = t->comm->rank == 0 || !shared;
    const bool has_model =
        !last->trial && last->result.stop != CPALS_BREAKDOWN &&
        (s->list.until_found || last->replicate == 0 || runs_best(s, last->replicate) == last);
    if (has_model && last->replicate > 0 && !s->list.until_found && is_own) {
        for (int i = 1; i < starts->made; i++) /* all ranks have copied their rows to it */
            ktensor_free(&model[-i]);
    }
    if (whole) { /* until all are here, a rank may still touch the pages of a model that is freed */
        if (has_model || shared)
            TRY(model_whole_complete(model, rows, &t->rows, error));
        if (!has_model && is_own)
            ktensor_free(model);
    } else if (has_model && spread) {
        *model = *rows;
        *rows = (struct ktensor){0};
    } else if (has_model) {
        model_collect(model, rows, &t->rows, error);
    }
    ktensor_free(rows);
    return error->status;
}

/* Where the best model of the whole tensor, which rank 0 has, ranks held-out entries. */
static enum status find_places(const struct runs *s, const struct holdout_places *places,
                               struct error *error)
{
    const struct run *best = runs_best(s, 0);
    if (places->count == 0 || !best)
        return STATUS_OK;
    struct run *run = &s->run[best - s->run];
    return holdout_places_score(&run->result.holdout_error.places, places, &s->model[best - s->run],
                                error);
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
    struct rank_tensor replicate = {0}, *on = t; /* `on`: what *b has */
    struct ktensor rows = {0};
    struct run run, next;
    bool open = false;
    double size, replicates_began = 0;
    if (s->list.choose_ridge) {
        TRY_OR(failed, holdout_error_size(&size, &t->holdout_set, t->comm, error));
        ridge_search_begin(&s->ridge, options.problem.ridge_scale, size, b->order);
    }
    for (bool more = runs_next(s, &run); more; run = next) {
        if (!open && run.replicate > 0) {
            replicates_began = run.replicate == 1 ? clock_now() : replicates_began;
            on = &replicate;
            TRY_OR(done, take_replicate(on, t, &s->list, run.replicate, d->progress, error));
            TRY_OR(done, backend_prepare(b, kind, on, &options, d->progress, error));
        }
        if (!open) {
            TRY_OR(failed, build(b, on, d->progress, error));
            if (run.replicate == 0 && d->opened)
                d->opened(d->context, b);
        }
        if (run.ridge > 0)
            backend_take_ridge(b, run.ridge);
        const struct run *before = runs_best(s, run.replicate);
        struct cpals_options als = options_for(d, &run, on);
        const bool whole = t->comm->size > 1 && !d->spread && !run.trial && !als.core_consistency;
        als.whole = whole ? &s->model[s->count] : NULL;
        make_run(b, als, &run, before, &rows, d->progress, error);
        TRY_OR(failed, note_run(s, &run, d->progress, error));
        if (trace && runs_best(s, 0) == &s->run[s->count - 1])
            fit_trace_swap(trace, &kept);
        if (s->list.until_found) { /* whether another start follows */
            TRY_OR(failed, collect(s, &rows, t, d->spread, whole, error));
            TRY_OR(failed, compare(s, before, t->comm, error));
        }
        more = runs_next(s, &next);
        open = more && next.replicate == run.replicate;
        if (!open && run.replicate == 0) {
            const uint64_t bytes = coo_bytes(t->shape.order, t->input.x.nnz);
            fill_report(report, b, s);
            options = b->options; /* of a replicate, beside which the nonzeros of the whole stay */
            options.spends = true;
            if (options.host_memory > 0)
                options.host_memory = options.host_memory > bytes ? options.host_memory - bytes : 1;
        }
        if (!open) { /* makes room for the last model */
            backend_close(b);
            replicate_tensor_free(&replicate);
        }
        if (!s->list.until_found)
            TRY_OR(failed, collect(s, &rows, t, d->spread, whole, error));
    }
    if (replicates_began > 0)
        report->replicates = clock_now() - replicates_began;
    if (trace)
        fit_trace_swap(trace, &kept);
    if (runs_check(s, error) == STATUS_OK && t->comm->rank == 0 && !d->spread)
        find_places(s, &t->holdout_set.places, error);
    comm_end_phase(t->comm, error);
    goto done;
failed: /* the other ranks learn of it before the backend closes */
    comm_abort(t->comm, error);
done:
    backend_close(b);
    replicate_tensor_free(&replicate);
    ktensor_free(&rows);
    fit_trace_free(&kept);
    return error->status;
}

/* Squared singular values below this part of the largest are rounding. */
#define NOTHING 1e-12

/* Chooses weights (R x R) so that the columns of M weights are the left singular vectors of M, the
 * largest singular values first, and then random combinations of these. vectors (R x R), values
 * (R): of the Gram of M, ascending; mix (R x R): random numbers. */
static void choose_weights(double *weights, const double *vectors, const double *values,
                           const double *mix, uint64_t rank)
{
    uint64_t kept = 0;
    while (kept < rank && values[rank - 1 - kept] > NOTHING * values[rank - 1])
        kept++;
    for (uint64_t c = 0; c < rank; c++)
        for (uint64_t i = 0; i < rank; i++) {
            double sum = 0;
            for (uint64_t e = 0; e < kept; e++) {
                const double *vector = vectors + (rank - 1 - e) * rank;
                double part = c < kept ? c == e : mix[e * rank + c] / sqrt((double)kept);
                sum += part * vector[i] / sqrt(values[rank - 1 - e]);
            }
            weights[i * rank + c] = sum;
        }
}

enum status nvecs_start(struct ktensor *k, struct backend *b, uint64_t seed,
                        struct progress *progress, struct error *error)
{
    const uint64_t rank = k->rank;
    struct shape square = {.order = b->order};
    struct ktensor mix = {0}; /* (R x R) for each mode: random numbers */
    progress_stage(progress, "sketching");
    for (int n = 0; n < b->order; n++)
        square.dims[n] = rank;
    ktensor_create(&mix, &square, rank, error);
    /* M = X_(n) W; its Gram, which then becomes its eigenvectors. */
    double *m = memory_array(shape_longest(&k->shape), rank * sizeof *m, error);
    double *gram = memory_array(rank, rank * sizeof *gram, error);
    double *weights = memory_array(rank, rank * sizeof *weights, error);
    double *values = memory_array(rank, sizeof *values, error);
    TRY_OR(done, error->status);
    ktensor_randomise(k, KTENSOR_NORMAL, seed);
    for (int i = 0; i < NVECS_SKETCHES; i++) {
        ktensor_randomise(&mix, KTENSOR_NORMAL, seed + (uint64_t)i);
        for (int n = 0; i > 0 && n < b->order; n++) { /* random combinations of the vectors */
            const uint64_t rows = k->shape.dims[n];
            memory_copy(m, k->factor[n], rows * rank * sizeof *m);
            factor_columns_multiply(m, rows, rank, mix.factor[n], k->factor[n]);
        }
        TRY_OR(done, backend_load(b, k, error)); /* with W from k */
        for (int n = 0; n < b->order; n++) {
            const struct mode_rows *rows = &b->ranks->mode[n];
            const uint64_t skip = rows->first * rank;
            const struct factor_rows own = {.a = m + skip, .rows = rows->count, .rank = rank};
            TRY_OR(done, backend_mttkrp(b, n, error));
            TRY_OR(done, backend_fetch(b, n, m, error));
            TRY_OR(done, rank_rows_reduce_scatter(b->ranks, n, m, rank, error));
            TRY_OR(done, factor_columns_products(&own, &own, gram, error));
            TRY_OR(done, comm_allreduce_sum(b->ranks->all, gram, rank * rank, error));
            TRY_OR(done, symmetric_eigen(gram, rank, values, error));
            choose_weights(weights, gram, values, mix.factor[n], rank);
            factor_columns_multiply(own.a, own.rows, rank, weights, k->factor[n] + skip);
            TRY_OR(done, rank_rows_allgather(b->ranks, n, k->factor[n], rank, error));
        }
    }
    for (int n = 0; n < b->order; n++)
        if (b->options.problem.rules.nonneg[n])
            ktensor_drop_signs(k, n);
    progress_done(progress, "%d sketches of each unfolding", NVECS_SKETCHES);
done:
    ktensor_free(&mix);
    memory_free(m, gram, weights, values);
    return error->status;
}
