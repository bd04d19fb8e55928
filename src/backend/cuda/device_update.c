/* The steps of an iteration. The host queues work ahead of the GPU, as if every V could be
 * inverted. Where one cannot, the GPU skips everything after it; the host learns of that at its
 * next wait and repeats these steps, waiting for each V. While the host waits for the fit, the GPU
 * already works on the next sweep's first MTTKRP. */
#include "backend/cuda/device_row_update.h"

#include <math.h>

#include "backend/backend_fit.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/memory.h"
#include "numerics/poisson_term.h"

static const char weighing[] = "weighing the model on the GPU";

/* Zeros of factor matrix n, which no step of counts leaves, become a small part of the mean of
 * their column; between stripes may be rows that are none (row_deal.h), and stay zero. */
static enum status lift_zeros(struct device_state *s, int n, struct error *error)
{
    const struct mode_rows *rows = &s->ranks.ranks->mode[n];
    const struct device_matrix a = device_state_matrix(s, n, s->sweep.factors.factor[n]);
    const struct row_lift_args args = {
        .a = device_state_row(s, s->sweep.factors.factor[n], rows->first),
        .rows = rows->count,
        .vectors = s->sweep.factors.vectors,
        .rank = (uint32_t)s->rank,
        .precision = s->sweep.factors.precision,
        .sum = s->rows.sum[n],
        .share = POISSON_LIFT / (double)s->ranks.ranks->part.whole.dims[n]};
    TRY(cuda_status(row_lift_zeros(&args, s->stream), weighing, error));
    TRY(device_ranks_gather(&s->ranks, n, &a, s->stream, error));
    device_sweep_changed(&s->sweep, n);
    return device_row_update_sum_columns(s, n, s->sweep.factors.factor[n], s->rows.sum[n], error);
}

/* The norms and the Gram of unit columns of factor matrix n, on the side stream. */
static enum status normalise(struct device_state *s, const struct dense_norms *to, int n,
                             struct error *error)
{
    return cuda_status(
        dense_normalise(to, (uint32_t)s->rank, n + 1, &s->scalars->bad, &s->scalars->halt, s->side),
        "normalise", error);
}

/* Unit columns, as they are after an update; the model stays. Fixed modes keep their lengths. */
static enum status scale_columns(struct device_state *s, double *lambda, struct error *error)
{
    const size_t row = s->rank * sizeof *lambda;
    double *norm = memory_array(1, row, error);
    TRY(error->status);
    for (int n = 0; n < s->order; n++) {
        if (s->problem->asked->rules.fixed[n])
            continue;
        const struct dense_norms to = {s->solve.raw, s->rows.sum[n], s->model.norm[n],
                                       s->model.gram[n]};
        TRY_OR(done, device_copy(s->solve.raw, s->model.gram[n], s->rank * row, s->side, weighing,
                                 error));
        TRY_OR(done, normalise(s, &to, n, error));
        TRY_OR(done, device_fetch(norm, s->model.norm[n], row, s->side, weighing, error));
        for (uint64_t r = 0; r < s->rank; r++)
            lambda[r] *= norm[r];
    }
done:
    memory_free(norm);
    return error->status;
}

static enum status put_lambda(struct device_state *s, const double *lambda, struct error *error)
{
    return device_send(s->model.lambda, lambda, s->rank * sizeof *lambda, s->side, weighing, error);
}

/* The weights of a model that was only loaded say nothing of its size: lambda is multiplied so that
 * the model's listed entries have the norm of the tensor's; of counts, so that the entries that
 * count have their total. From a pass over the ordering of `mode`; waits. Does nothing where that
 * is done. STATUS_MEMORY, and failures of other ranks. */
static enum status fit_weights(struct device_state *s, int mode, struct error *error)
{
    const size_t row = s->rank * sizeof(double);
    if (s->model.last_mode >= 0 || s->model.weights_fit)
        return STATUS_OK;
    struct device_row_scalars sums;
    double *lambda = memory_array(1, row, error);
    TRY(error->status);
    for (int n = 0; s->rows.rates && n < s->order; n++)
        if (!s->problem->asked->rules.fixed[n] && lift_zeros(s, n, error) != STATUS_OK)
            goto done;
    TRY_OR(done, device_ranks_before_wait(&s->ranks, s->stream, error));
    TRY_OR(done, cuda_status(cudaStreamSynchronize(s->stream), weighing, error));
    TRY_OR(done, device_fetch(lambda, s->model.lambda, row, s->side, weighing, error));
    TRY_OR(done, scale_columns(s, lambda, error));
    TRY_OR(done, put_lambda(s, lambda, error));
    TRY_OR(done, device_row_update_values(s, mode, error));
    TRY_OR(done, device_ranks_before_wait(&s->ranks, s->stream, error));
    TRY_OR(done, device_fetch(&sums, &s->scalars->rows, sizeof sums, s->stream, weighing, error));
    const double scale = s->rows.rates ? s->problem->null.total / (sums.model + sums.totals.model)
                                       : sqrt(s->sweep.orderings.norm_sq / sums.totals.model);
    for (uint64_t r = 0; isfinite(scale) && r < s->rank; r++)
        lambda[r] *= scale;
    put_lambda(s, lambda, error);
    s->model.weights_fit = true;
done:
    memory_free(lambda);
    return error->status;
}

#define CAREFUL_UPDATES 64 /* after a singular V, each waiting for its V */

_Static_assert(DEVICE_DENSE_PASSES > OPERATION_EVENTS + DEVICE_MOST_QUEUED,
               "events of passes time operations until they are read");

void device_state_forget(struct device_state *s)
{
    s->ahead.count = s->ahead.careful = 0;
    s->momentum.prepared = STEP_NONE;
    device_state_drop_m(s);
    s->events.end = NULL;
    s->ahead.running = device_dense_run_ahead(s->dense, &s->scalars->halt);
}

enum status device_state_queue_mttkrp(struct device_state *s, int mode, struct error *error)
{
    s->m_mode = mode;
    s->m_early = false;
    s->events.end = NULL;
    if (s->sweep.orderings.plan.streamed)
        TRY(device_ranks_before_wait(&s->ranks, s->stream, error));
    if (s->rows.on && !s->terms.held) {
        TRY(fit_weights(s, mode, error));
        return device_row_update_solve(s, mode, error);
    }
    return device_sweep_mttkrp(&s->sweep, mode, s->stream, error);
}

/* Queues the inverse of V and the pass over the rows of M and the factor matrix that this rank
 * solves, which then go to all ranks. Rows that have systems are solved in M already. */
static enum status queue_solve(struct device_state *s, int mode, struct error *error)
{
    const struct device_matrix m = device_state_matrix(s, mode, s->sweep.factors.m);
    const struct device_matrix a = device_state_matrix(s, mode, s->sweep.factors.factor[mode]);
    const struct dense_modes modes = device_state_modes(s, mode);
    const struct mode_rules *rules = &s->problem->asked->rules;
    const struct mode_rows *own = &s->ranks.ranks->mode[mode];
    const struct device_dense_rows rows = {
        .m = device_state_row(s, s->sweep.factors.m, own->first),
        .a = device_state_row(s, s->sweep.factors.factor[mode], own->first),
        .count = own->count,
        .raw = s->solve.raw};
    struct device_ahead *ahead = &s->ahead;
    const double *lambda = device_state_lambda(s);
    const bool nonneg = rules->nonneg[mode] && !s->rows.on;
    const bool fit_rows = s->model.last_mode < 0 && !s->model.weights_fit;
    s->model.last_mode = mode;
    device_sweep_changed(&s->sweep, mode);
    if (!s->rows.on) {
        TRY(device_ranks_scatter(&s->ranks, mode, &m, s->stream, error));
        if (nonneg)
            TRY(device_dense_prepare_nonneg(s->dense, &modes, rules->ridge[mode], lambda,
                                            s->ranks.ranks->part.whole.dims[mode], error));
        if (!nonneg && !ahead->running)
            TRY(device_ranks_before_wait(&s->ranks, s->side, error));
        if (!nonneg)
            TRY(device_dense_inverse(s->dense, &modes, rules->ridge[mode], s->solve.inverse,
                                     error));
        s->solve.reciprocal = fmin(s->solve.reciprocal, device_dense_reciprocal(s->dense));
        TRY(cuda_status(device_queue_follow(s->stream, s->side, s->solve.ready), "V", error));
    }
    if (nonneg)
        device_dense_apply_nonneg(s->dense, &rows, fit_rows, error);
    else
        device_dense_apply(s->dense, &rows, s->rows.on ? NULL : s->solve.inverse, error);
    s->events.end = device_ranks_alone(&s->ranks) ? device_dense_passed(s->dense) : NULL;
    TRY(error->status);
    if (ahead->careful > 0)
        ahead->careful = device_dense_singular(s->dense) ? CAREFUL_UPDATES : ahead->careful - 1;
    return device_ranks_gather(&s->ranks, mode, &a, s->stream, error);
}

/* lambda and the Gram of unit columns follow from A_n' A_n. After queue_solve `raw` has that of
 * this rank's rows. */
static enum status queue_update(struct device_state *s, int mode, struct error *error)
{
    double *raw = s->solve.raw;
    const struct dense_norms to = {raw, s->rows.made, s->model.norm[mode], s->model.gram[mode]};
    TRY(queue_solve(s, mode, error));
    TRY(device_ranks_sum(&s->ranks, raw, raw, s->rank * s->rank, s->side, error));
    TRY(normalise(s, &to, mode, error));
    if (!s->rows.rates)
        return STATUS_OK;
    return device_copy(s->rows.sum[mode], s->rows.made, s->rank * sizeof(double), s->side, weighing,
                       error);
}

/* Queues everything from the k-th update on once more, now waiting for every V. */
static enum status repeat_updates(struct device_state *s, int k, struct error *error)
{
    struct device_ahead *ahead = &s->ahead;
    int first = 0;
    for (int solved = 0; first < ahead->count; first++) {
        solved += ahead->queued[first].updated;
        if (solved == k)
            break;
    }
    ahead->running = device_dense_run_ahead(s->dense, NULL);
    ahead->careful = CAREFUL_UPDATES;
    s->model.last_mode = ahead->queued[first].before;
    const int none = 0;
    TRY(device_send(&s->scalars->halt, &none, sizeof none, s->side, "V", error));
    for (int i = first; i < ahead->count; i++) {
        const struct device_queued *u = &ahead->queued[i];
        TRY(device_state_queue_mttkrp(s, u->mode, error));
        if (u->updated)
            TRY(queue_update(s, u->mode, error));
    }
    return STATUS_OK;
}

/* Waits for the GPU and fetches the scalars. *repeated: updates were repeated, and what was queued
 * after them has no result. */
static enum status wait_for_scalars(struct device_state *s, bool *repeated, struct error *error)
{
    struct device_ahead *ahead = &s->ahead;
    *repeated = false;
    if (device_copy(s->result, s->scalars, sizeof *s->result, s->side, "an iteration", error) ==
            STATUS_OK &&
        device_ranks_wait(&s->ranks, s->side, error) == STATUS_OK)
        *repeated = s->result->halt != 0;
    if (*repeated) {
        device_momentum_drop(s); /* its kernels have done nothing */
        repeat_updates(s, s->result->halt, error);
    }
    ahead->count = 0;
    ahead->running =
        device_dense_run_ahead(s->dense, ahead->careful > 0 ? NULL : &s->scalars->halt);
    s->events.end = NULL;
    return error->status;
}

enum status device_state_wait(struct device_state *s, struct error *error)
{
    bool repeated;
    TRY(device_use(s->device, error));
    TRY(wait_for_scalars(s, &repeated, error));
    device_momentum_set_aside(s);
    return cuda_status(cudaDeviceSynchronize(), "an update", error);
}

static enum status note_mttkrp(struct device_state *s, int mode, struct error *error)
{
    struct device_ahead *ahead = &s->ahead;
    if (ahead->count == DEVICE_MOST_QUEUED)
        TRY(device_state_wait(s, error));
    ahead->queued[ahead->count++] = (struct device_queued){.mode = mode};
    return STATUS_OK;
}

enum status device_state_mttkrp(void *state, int mode, struct error *error)
{
    struct device_state *s = state;
    TRY(device_use(s->device, error));
    device_momentum_drop(s);
    TRY(note_mttkrp(s, mode, error));
    if (!s->m_early || s->m_mode != mode)
        return device_state_queue_mttkrp(s, mode, error);
    s->m_early = false;
    return STATUS_OK;
}

enum status device_state_update(void *state, int mode, struct error *error)
{
    struct device_state *s = state;
    struct device_ahead *ahead = &s->ahead;
    TRY(device_use(s->device, error));
    /* If the host has waited since the MTTKRP, the MTTKRP is no longer noted. */
    const bool noted = ahead->count > 0 && !ahead->queued[ahead->count - 1].updated;
    if (!noted)
        TRY(note_mttkrp(s, mode, error));
    ahead->queued[ahead->count - 1].updated = true;
    ahead->queued[ahead->count - 1].before = s->model.last_mode;
    return queue_update(s, mode, error);
}

/* Queues the first MTTKRP of the next sweep, unless it is streamed: if no sweep follows, the wait
 * for it would be long. */
static enum status begin_next_sweep(struct device_state *s, struct error *error)
{
    struct device_events *events = &s->events;
    if (s->ahead.careful > 0 || s->sweep.orderings.plan.streamed)
        return STATUS_OK;
    events->swept = events->end; /* the event after the sweep */
    if (!events->swept) {
        events->turn ^= 1;
        events->swept = events->spare[events->turn];
        TRY(cuda_status(cudaEventRecord(events->swept, s->stream), "MTTKRP", error));
    }
    TRY(device_state_queue_mttkrp(s, mode_rules_first(&s->problem->asked->rules, s->order), error));
    s->m_early = true;
    return STATUS_OK;
}

static double epsilon(const struct device_state *s, int mode)
{
    return backend_fit_epsilon(s->ranks.ranks->part.whole.dims[mode], s->sweep.factors.precision);
}

/* Queues the fit, the decision on the next sweep where m is not NULL, and the start of that sweep.
 * With systems of rows the host decides. */
static enum status queue_end(struct device_state *s, int mode, const struct momentum *m,
                             struct error *error)
{
    if (!s->rows.rates) { /* M is read on `stream`, where the next sweep's first MTTKRP overwrites
                             it */
        const struct dense_modes modes = device_state_modes(s, mode);
        const double *inner;
        TRY(device_dense_inner(s->dense, &inner, error));
        if (s->events.end)
            s->events.end = device_dense_passed(s->dense);
        if (!device_ranks_alone(&s->ranks)) {
            TRY(device_ranks_sum(&s->ranks, inner, s->solve.inner, s->rank, s->side, error));
            inner = s->solve.inner;
        }
        TRY(cuda_status(dense_model(&modes, inner, &s->scalars->fit, s->side), "fit", error));
    }
    if (s->rows.on)
        return device_row_update_sums(s, mode, error);
    if (m)
        TRY(device_momentum_queue(s, mode, m, epsilon(s, mode), error));
    return begin_next_sweep(s, error);
}

/* *fit from the scalars in s->result. */
static enum status read_fit(const struct device_state *s, int mode, const struct momentum *m,
                            struct backend_fit *fit, struct error *error)
{
    const struct device_scalars *r = s->result;
    if (r->bad)
        return error_set(error, STATUS_NUMERICAL,
                         "mode %d: the factor has an entry that is not finite", r->bad);
    if (s->rows.on) {
        TRY(device_row_update_fit(s, mode, fit, error));
        backend_fit_decide(fit, m);
        return STATUS_OK;
    }
    const struct fit_terms terms = {.norm_sq = s->sweep.orderings.norm_sq,
                                    .inner = r->fit.inner,
                                    .model_sq = r->fit.model_sq,
                                    .inner_size = r->fit.inner_size,
                                    .model_size = r->fit.model_size,
                                    .epsilon = epsilon(s, mode),
                                    .penalty = m ? r->momentum.penalty : 0};
    const struct fit_squares squares = fit_squares_of(&terms);
    TRY(backend_fit_of(fit, &squares, mode + 1, error));
    if (m) {
        fit->momentum = r->momentum.state;
        fit->step = r->momentum.step;
    }
    return STATUS_OK;
}

enum status device_state_fit(void *state, int mode, const struct momentum *m,
                             struct backend_fit *fit, struct error *error)
{
    struct device_state *s = state;
    bool repeated = true;
    TRY(device_use(s->device, error));
    while (repeated) {
        TRY(queue_end(s, mode, m, error));
        TRY(wait_for_scalars(s, &repeated, error));
    }
    if (!s->rows.on)
        s->model.weights_fit = true;
    if (m && !s->rows.on && s->result->momentum.state.undecided)
        device_momentum_drop(s);
    TRY(read_fit(s, mode, m, fit, error));
    fit->reciprocal = s->solve.reciprocal;
    s->solve.reciprocal = 1;
    return STATUS_OK;
}

enum status device_state_extrapolate(void *state, const struct momentum_step *step,
                                     struct error *error)
{
    struct device_state *s = state;
    if (device_momentum_take(s))
        return STATUS_OK;
    TRY(device_state_wait(s, error));
    return device_momentum_step(s, step, error);
}
