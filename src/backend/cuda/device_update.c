/* The steps of an iteration.
 *
 * The host runs ahead of the GPU: it assumes that every V can be inverted. Where one cannot, the
 * GPU leaves everything after it undone; the host learns of that when it next waits anyway, and
 * repeats these steps, waiting for each V. While the host waits for the fit, the GPU already works
 * on the next sweep's first MTTKRP. */
#include "backend/cuda/device_state.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"

#define CAREFUL_UPDATES 64 /* that wait for their V after one that was singular */

_Static_assert(DEVICE_DENSE_PASSES > OPERATION_EVENTS + DEVICE_MOST_QUEUED,
               "events of passes time operations until they are read");

void device_state_forget(struct device_state *s)
{
    s->count = s->careful = 0;
    s->momentum.prepared = STEP_NONE;
    device_state_drop_m(s);
    s->end = NULL;
    s->runs_ahead = device_dense_run_ahead(s->dense, &s->scalars->halt);
}

void *device_state_row(const struct device_state *s, void *array, uint64_t row)
{
    return (char *)array + row * s->ld * precision_bytes(s->sweep.factors.precision);
}

enum status device_state_queue_mttkrp(struct device_state *s, int mode, struct error *error)
{
    s->m_mode = mode;
    s->m_early = false;
    s->end = NULL;
    if (s->sweep.orderings.plan.streamed &&
        device_ranks_before_wait(&s->ranks, s->stream, error) != STATUS_OK)
        return error->status;
    return device_sweep_mttkrp(&s->sweep, mode, s->stream, error);
}

/* What M is to be solved by, on the side stream. last: the mode whose norms are lambda, or -1. */
static enum status queue_weights(struct device_state *s, int mode, int last, struct error *error)
{
    const double *const *gram = (const double *const *)s->gram;
    const double *const *norm = (const double *const *)s->norm;
    double ridge = s->rules.ridge[mode];
    if (s->rules.nonneg[mode])
        return device_dense_nonneg_weights(s->dense, s->order, mode, gram, norm, ridge,
                                           last < 0 ? s->start : s->norm[last],
                                           s->ranks.ranks->part.whole.dims[mode], s->side, error);
    if (!s->runs_ahead && device_ranks_before_wait(&s->ranks, s->side, error) != STATUS_OK)
        return error->status;
    return device_dense_inverse(s->dense, s->order, mode, gram, norm, ridge, s->weights, s->side,
                                error);
}

/* The rows of the factor matrix that this rank solves, from M's. */
static enum status queue_rows(struct device_state *s, int mode, bool fit_rows, struct error *error)
{
    const struct mode_rows *rows = &s->ranks.ranks->mode[mode];
    void *m = device_state_row(s, s->sweep.factors.m, rows->first);
    void *a = device_state_row(s, s->sweep.factors.factor[mode], rows->first);
    return s->rules.nonneg[mode] ? device_dense_apply_nonneg(s->dense, m, a, rows->count, fit_rows,
                                                             s->raw, s->stream, s->side, error)
                                 : device_dense_apply(s->dense, m, s->weights, a, rows->count,
                                                      s->raw, s->stream, s->side, error);
}

static enum status queue_solve(struct device_state *s, int mode, struct error *error)
{
    int last = s->last_mode;
    s->last_mode = mode;
    device_sweep_changed(&s->sweep, mode);
    const struct device_factors *f = &s->sweep.factors;
    enum status status =
        device_ranks_scatter(&s->ranks, mode, f->m, s->ld, f->precision, s->stream, error);
    if (status == STATUS_OK)
        status = queue_weights(s, mode, last, error);
    if (status == STATUS_OK)
        status = cuda_status(cudaEventRecord(s->weights_ready, s->side), "V", error);
    if (status == STATUS_OK)
        status = cuda_status(cudaStreamWaitEvent(s->stream, s->weights_ready, 0), "V", error);
    if (status == STATUS_OK)
        status = queue_rows(s, mode, last < 0 && !s->weights_fit, error);
    s->end = device_ranks_alone(&s->ranks) ? device_dense_passed(s->dense) : NULL;
    if (status == STATUS_OK)
        status = device_ranks_gather(&s->ranks, mode, f->factor[mode], s->ld, f->precision,
                                     s->stream, error);
    if (s->careful > 0)
        s->careful = device_dense_singular(s->dense) ? CAREFUL_UPDATES : s->careful - 1;
    return status;
}

/* lambda and the Gram of unit columns both follow from A_n' A_n, of which the solve left in `raw`
 * what this rank's rows come to. */
static enum status queue_normalise(struct device_state *s, int mode, struct error *error)
{
    enum status status =
        device_ranks_sum(&s->ranks, s->raw, s->raw, s->rank * s->rank, s->side, error);
    return status == STATUS_OK
               ? device_dense_normalise(s->dense, s->raw, s->norm[mode], s->gram[mode], mode + 1,
                                        &s->scalars->bad, s->side, error)
               : status;
}

static enum status queue_update(struct device_state *s, int mode, struct error *error)
{
    enum status status = queue_solve(s, mode, error);
    return status == STATUS_OK ? queue_normalise(s, mode, error) : status;
}

/* What was queued from the k-th update on, once more and waiting for every V. */
static enum status repeat_updates(struct device_state *s, int k, struct error *error)
{
    int first = 0;
    for (int solved = 0; first < s->count; first++) {
        solved += s->queued[first].updated;
        if (solved == k)
            break;
    }
    s->runs_ahead = device_dense_run_ahead(s->dense, NULL);
    s->careful = CAREFUL_UPDATES;
    s->last_mode = s->queued[first].before;
    enum status status =
        cuda_status(cudaMemset(&s->scalars->halt, 0, sizeof s->scalars->halt), "V", error);
    for (int i = first; i < s->count && status == STATUS_OK; i++) {
        const struct device_queued *u = &s->queued[i];
        status = device_state_queue_mttkrp(s, u->mode, error);
        if (status == STATUS_OK && u->updated)
            status = queue_update(s, u->mode, error);
    }
    return status;
}

/* Waits for the GPU and brings the scalars over. *repeated: updates had to be done once more, and
 * what was queued after them was in vain. */
static enum status wait_for_scalars(struct device_state *s, bool *repeated, struct error *error)
{
    enum status status = cuda_status(
        cudaMemcpyAsync(s->result, s->scalars, sizeof *s->result, cudaMemcpyDeviceToHost, s->side),
        "an iteration", error);
    if (status == STATUS_OK)
        status = device_ranks_wait(&s->ranks, s->side, error);
    *repeated = status == STATUS_OK && s->result->halt != 0;
    if (*repeated) {
        device_momentum_drop(s); /* whose kernels have done nothing */
        status = repeat_updates(s, s->result->halt, error);
    }
    s->count = 0;
    s->end = NULL;
    s->runs_ahead = device_dense_run_ahead(s->dense, s->careful > 0 ? NULL : &s->scalars->halt);
    return status;
}

enum status device_state_wait(struct device_state *s, struct error *error)
{
    bool repeated;
    if (wait_for_scalars(s, &repeated, error) != STATUS_OK)
        return error->status;
    device_momentum_set_aside(s);
    return cuda_status(cudaDeviceSynchronize(), "an update", error);
}

static enum status note_mttkrp(struct device_state *s, int mode, struct error *error)
{
    if (s->count == DEVICE_MOST_QUEUED && device_state_wait(s, error) != STATUS_OK)
        return error->status;
    s->queued[s->count++] = (struct device_queued){.mode = mode};
    return STATUS_OK;
}

enum status device_state_mttkrp(void *state, int mode, struct error *error)
{
    struct device_state *s = state;
    enum status status = device_use(s->device, error);
    device_momentum_drop(s);
    if (status == STATUS_OK)
        status = note_mttkrp(s, mode, error);
    if (s->m_early && s->m_mode == mode)
        s->m_early = false;
    else if (status == STATUS_OK)
        status = device_state_queue_mttkrp(s, mode, error);
    return status;
}

enum status device_state_update(void *state, int mode, struct error *error)
{
    struct device_state *s = state;
    enum status status = device_use(s->device, error);
    /* Where the host has waited since the MTTKRP, that is no longer noted. */
    if (status == STATUS_OK && (s->count == 0 || s->queued[s->count - 1].updated))
        status = note_mttkrp(s, mode, error);
    if (status != STATUS_OK)
        return status;
    s->queued[s->count - 1].updated = true;
    s->queued[s->count - 1].before = s->last_mode;
    return queue_update(s, mode, error);
}

/* The MTTKRP that the next sweep will begin with. Of a streamed one that nobody asks for in the end
 * the wait would be long. */
static enum status begin_next_sweep(struct device_state *s, struct error *error)
{
    if (s->careful > 0 || s->sweep.orderings.plan.streamed)
        return STATUS_OK;
    enum status status = STATUS_OK;
    s->swept = s->end;
    if (!s->swept) {
        s->turn ^= 1;
        s->swept = s->spare[s->turn];
        status = cuda_status(cudaEventRecord(s->swept, s->stream), "MTTKRP", error);
    }
    if (status == STATUS_OK)
        status = device_state_queue_mttkrp(s, mode_rules_first(&s->rules, s->order), error);
    s->m_early = true;
    return status;
}

static enum status queue_fit(struct device_state *s, int mode, struct error *error)
{
    const double *inner;
    const bool alone = device_ranks_alone(&s->ranks);
    /* M is read on `stream`, where the next sweep's first MTTKRP overwrites it. */
    enum status status = device_dense_inner(s->dense, &inner, s->stream, s->side, error);
    if (s->end)
        s->end = device_dense_passed(s->dense);
    if (status == STATUS_OK && !alone)
        status = device_ranks_sum(&s->ranks, inner, s->inner, s->rank, s->side, error);
    return status == STATUS_OK
               ? device_dense_model(s->dense, s->order, mode, alone ? inner : s->inner,
                                    (const double *const *)s->gram, (const double *const *)s->norm,
                                    &s->scalars->fit, s->side, error)
               : status;
}

static double epsilon(const struct device_state *s, int mode)
{
    return backend_fit_epsilon(s->ranks.ranks->part.whole.dims[mode], s->sweep.factors.precision);
}

/* The fit, the decision on the next sweep where *m is not NULL, and what that sweep begins with. */
static enum status queue_end(struct device_state *s, int mode, const struct momentum *m,
                             struct error *error)
{
    if (queue_fit(s, mode, error) != STATUS_OK)
        return error->status;
    if (m && device_momentum_queue(s, mode, m, epsilon(s, mode), error) != STATUS_OK)
        return error->status;
    return begin_next_sweep(s, error);
}

/* *fit from what the GPU has left in s->result. */
static enum status read_fit(const struct device_state *s, int mode, const struct momentum *m,
                            struct backend_fit *fit, struct error *error)
{
    const struct device_scalars *r = s->result;
    if (r->bad)
        return error_set(error, STATUS_NUMERICAL,
                         "mode %d: the factor has an entry that is not finite", r->bad);
    const struct fit_terms terms = {.norm_sq = s->sweep.orderings.norm_sq,
                                    .inner = r->fit.inner,
                                    .model_sq = r->fit.model_sq,
                                    .inner_size = r->fit.inner_size,
                                    .model_size = r->fit.model_size,
                                    .epsilon = epsilon(s, mode),
                                    .penalty = m ? r->momentum.penalty : 0};
    if (backend_fit_of(fit, &terms, mode + 1, error) != STATUS_OK)
        return error->status;
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
    if (device_use(s->device, error) != STATUS_OK)
        return error->status;
    while (repeated) {
        if (queue_end(s, mode, m, error) != STATUS_OK)
            return error->status;
        if (wait_for_scalars(s, &repeated, error) != STATUS_OK)
            return error->status;
    }
    s->weights_fit = true;
    if (m && s->result->momentum.state.undecided)
        device_momentum_drop(s);
    return read_fit(s, mode, m, fit, error);
}

enum status device_state_extrapolate(void *state, const struct momentum_step *step,
                                     struct error *error)
{
    struct device_state *s = state;
    if (device_momentum_take(s))
        return STATUS_OK;
    if (device_use(s->device, error) != STATUS_OK)
        return error->status;
    if (device_state_wait(s, error) != STATUS_OK)
        return error->status;
    return device_momentum_step(s, step, error);
}
