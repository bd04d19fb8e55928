/* Momentum on the device. The host learns the fit of a sweep when the device has long begun the
 * next one: therefore device_state_fit queues the decision on the next sweep and what that begins
 * with, behind the fit. Y is written over the second factor matrices, which then trade places with
 * the others, whatever the decision is: where a sweep is taken back, nothing is written, and
 * trading places is all; where Y is A, A is copied. The host decides likewise from the same
 * numbers, and asks for the step (device_state_extrapolate) or does not: until then, whoever asks
 * for the model gets that of the sweep. Where the fit of the sweep is blind, the device decides
 * nothing and writes nothing; the host decides by the residual, and the step that it asks for is
 * queued then. */
#include "backend/cuda/device_state.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"

static const char doing[] = "momentum";

enum status device_momentum_open(struct device_state *s, struct error *error)
{
    struct device_momentum *m = &s->momentum;
    const bool *wanted = s->sweep.orderings.plan.request.second;
    uint64_t row_bytes = s->ld * precision_bytes(s->sweep.factors.precision);
    for (int n = 0; n < s->order && error->status == STATUS_OK; n++) {
        struct device_second *second = &m->second[n];
        if (!wanted[n])
            continue;
        second->factor = device_array(device_ranks_rows(s->ranks.ranks, n), row_bytes, error);
        if (error->status == STATUS_OK)
            device_array_into(&second->gram, s->rank * s->rank, sizeof *second->gram, error);
        if (error->status == STATUS_OK)
            device_array_into(&second->norm, s->rank, sizeof *second->norm, error);
    }
    if (error->status == STATUS_OK)
        device_array_into(&m->raw, (uint64_t)s->order * s->rank * s->rank, sizeof *m->raw, error);
    for (int p = 0; p < 2 && error->status == STATUS_OK; p++)
        if (s->dense_of[p])
            device_dense_open_extrapolate(s->dense_of[p], s->device, error);
    if (error->status == STATUS_OK)
        cuda_status(device_event_create(&m->decided), "an event", error);
    return error->status;
}

void device_momentum_close(struct device_momentum *m)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        device_free(m->second[n].factor);
        device_free(m->second[n].gram);
        device_free(m->second[n].norm);
    }
    device_free(m->raw);
    device_event_destroy(m->decided);
    *m = (struct device_momentum){0};
}

void device_momentum_restart(struct device_momentum *m)
{
    m->on = false;
    m->waiting = STEP_NONE;
}

static void swap(double **a, double **b)
{
    double *of_a = *a;
    *a = *b;
    *b = of_a;
}

/* Factor matrices and second ones trade places. */
static void trade(struct device_state *s)
{
    for (int n = 0; n < s->order; n++) {
        struct device_second *second = &s->momentum.second[n];
        void *factor = s->sweep.factors.factor[n];
        if (!second->factor)
            continue;
        s->sweep.factors.factor[n] = second->factor;
        second->factor = factor;
        swap(&s->gram[n], &second->gram);
        swap(&s->norm[n], &second->norm);
        device_sweep_changed(&s->sweep, n);
    }
}

/* An M that was made of other factor matrices. */
static void drop_m(struct device_state *s)
{
    s->m_mode = -1;
    s->m_early = false;
}

void device_momentum_set_aside(struct device_state *s)
{
    if (s->momentum.waiting != STEP_QUEUED)
        return;
    trade(s);
    if (s->result->momentum.state.undecided)
        s->last_mode = s->momentum.last_mode;
    s->momentum.waiting = STEP_ASIDE;
}

void device_momentum_drop(struct device_state *s)
{
    if (s->momentum.waiting == STEP_NONE)
        return;
    device_momentum_set_aside(s);
    s->momentum.waiting = STEP_NONE;
    drop_m(s);
}

/* m->step on the side stream, for which `stream` then waits, if `steps`. lambda moves to s->start,
 * since norms are soon those of Y. */
static enum status queue_decision(struct device_state *s, int mode, double epsilon, bool steps,
                                  struct error *error)
{
    const struct dense_momentum_fit fit = {.terms = &s->scalars->fit,
                                           .norm_sq = s->sweep.orderings.norm_sq,
                                           .epsilon = epsilon,
                                           .ridge = s->rules.ridge[mode],
                                           .lambda = s->norm[mode],
                                           .rank = (uint32_t)s->rank};
    enum status status = cuda_status(
        dense_momentum_decide(&fit, &s->scalars->momentum, s->start, &s->scalars->halt, s->side),
        doing, error);
    if (status != STATUS_OK || !steps)
        return status;
    status = cuda_status(cudaEventRecord(s->momentum.decided, s->side), doing, error);
    return status == STATUS_OK
               ? cuda_status(cudaStreamWaitEvent(s->stream, s->momentum.decided, 0), doing, error)
               : status;
}

/* What the step does to every mode that has a second factor matrix. The Grams come from the rows
 * that this rank solves, summed. */
static struct dense_extrapolate_args step_of_modes(const struct device_state *s)
{
    const struct device_factors *f = &s->sweep.factors;
    struct dense_extrapolate_args args = {.step = &s->scalars->momentum.step,
                                          .halt = &s->scalars->halt};
    for (int n = 0; n < s->order; n++) {
        const struct device_second *second = &s->momentum.second[n];
        const struct mode_rows *rows = &s->ranks.ranks->mode[n];
        if (!second->factor)
            continue;
        args.mode[args.modes++] = (struct dense_extrapolate_mode){.a = f->factor[n],
                                                                  .s = second->factor,
                                                                  .rows = f->shape.dims[n],
                                                                  .first = rows->first,
                                                                  .count = rows->count,
                                                                  .norm_a = s->norm[n],
                                                                  .gram_a = s->gram[n],
                                                                  .norm_s = second->norm,
                                                                  .gram_s = second->gram,
                                                                  .clip = s->rules.nonneg[n]};
    }
    return args;
}

/* Y over the second factor matrices, their norms and their Grams. */
static enum status queue_step(struct device_state *s, struct error *error)
{
    const struct dense_extrapolate_args args = step_of_modes(s);
    double *raw = s->momentum.raw;
    enum status status = device_dense_extrapolate(s->dense, &args, raw, s->stream, s->side, error);
    s->end = device_dense_passed(s->dense);
    if (status == STATUS_OK)
        status = device_ranks_sum(&s->ranks, raw, raw, (uint64_t)args.modes * s->rank * s->rank,
                                  s->side, error);
    return status == STATUS_OK ? device_dense_extrapolated(s->dense, &args, raw, s->side, error)
                               : status;
}

/* The side stream goes on behind the step: there the next sweep's first V is made from its Grams,
 * and where ranks sum them, the wait for the fit sees the failure of another rank. */
enum status device_momentum_queue(struct device_state *s, int mode, double epsilon,
                                  struct error *error)
{
    const bool steps = !momentum_is_plain(s->result->momentum.state.sweeps + 1);
    enum status status = queue_decision(s, mode, epsilon, steps, error);
    if (status != STATUS_OK || !steps)
        return status;
    status = queue_step(s, error);
    if (status != STATUS_OK)
        return status;
    trade(s);
    s->momentum.last_mode = s->last_mode;
    s->last_mode = -1;
    s->momentum.waiting = STEP_QUEUED;
    return STATUS_OK;
}

/* The device begins with the state that the host has. */
enum status device_state_accelerate(void *state, const struct momentum *m, struct error *error)
{
    struct device_state *s = state;
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = device_state_settle(s, error);
    if (status != STATUS_OK)
        return status;
    device_momentum_drop(s);
    s->momentum.on = m != NULL;
    if (m)
        s->result->momentum.state = *m;
    return m ? cuda_status(
                   cudaMemcpy(&s->scalars->momentum.state, m, sizeof *m, cudaMemcpyHostToDevice),
                   doing, error)
             : STATUS_OK;
}

/* lambda stays in s->start, since norms are soon those of Y. */
static enum status keep_lambda(struct device_state *s, struct error *error)
{
    if (s->last_mode < 0)
        return STATUS_OK;
    return cuda_status(cudaMemcpy(s->start, s->norm[s->last_mode], s->rank * sizeof *s->start,
                                  cudaMemcpyDeviceToDevice),
                       doing, error);
}

/* The step that the host has decided on. */
static enum status take_step(struct device_state *s, const struct momentum_step *step,
                             struct error *error)
{
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = device_state_settle(s, error);
    device_momentum_drop(s);
    if (status == STATUS_OK && step->now != 0) {
        status = keep_lambda(s, error);
        if (status == STATUS_OK)
            status = cuda_status(
                cudaMemcpy(&s->scalars->momentum.step, step, sizeof *step, cudaMemcpyHostToDevice),
                doing, error);
        if (status == STATUS_OK)
            status = queue_step(s, error);
    }
    trade(s);
    s->last_mode = -1;
    return status;
}

enum status device_state_extrapolate(void *state, const struct momentum_step *step,
                                     struct error *error)
{
    struct device_state *s = state;
    const struct momentum_step *queued = &s->result->momentum.step;
    if (s->momentum.waiting == STEP_NONE || s->result->momentum.state.undecided)
        return take_step(s, step, error);
    if (queued->now != step->now || queued->before != step->before)
        return error_set(error, STATUS_INTERNAL,
                         "a step of %g and %g, but the GPU has prepared one of %g and %g",
                         step->now, step->before, queued->now, queued->before);
    if (s->momentum.waiting == STEP_ASIDE)
        trade(s);
    s->momentum.waiting = STEP_NONE;
    return STATUS_OK;
}

void device_state_trade(void *state)
{
    struct device_state *s = state;
    trade(s);
    drop_m(s);
}
