/* Momentum on the GPU. When the host learns the fit of a sweep, the GPU has long begun the next
 * one: the decision on the next sweep, and what that begins with, are queued with the fit. Y is
 * written over the previous factor matrices, which are then swapped with the others, whatever the
 * decision is: for a rejected sweep nothing is written, and the swap is all; where Y is A, A is
 * copied. The fit brings the decision to the host, which asks for the step or does not
 * (device_state_extrapolate); until then, whoever asks for the model gets that of the sweep. If the
 * fit of the sweep is blind, the GPU decides nothing and writes nothing, and no step is prepared;
 * the host decides by the residual, and its step is queued then. */
#include "backend/cuda/device_row_update.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "problem/problem.h"

static const char doing[] = "momentum";

enum status device_momentum_open(struct device_state *s, struct error *error)
{
    struct device_momentum *m = &s->momentum;
    const bool *wanted = s->sweep.orderings.plan.request.previous;
    uint64_t row_bytes = s->ld * precision_bytes(s->sweep.factors.precision);
    for (int n = 0; n < s->order; n++) {
        struct device_previous *previous = &m->previous[n];
        if (!wanted[n])
            continue;
        previous->factor = device_array(device_ranks_rows(s->ranks.ranks, n), row_bytes, error);
        TRY(error->status);
        TRY(device_array_into(&previous->gram, s->rank * s->rank, sizeof *previous->gram, error));
        TRY(device_array_into(&previous->norm, s->rank, sizeof *previous->norm, error));
        if (s->rows.rates)
            TRY(device_array_into(&previous->sum, s->rank, sizeof *previous->sum, error));
    }
    TRY(device_array_into(&m->raw, (uint64_t)s->order * s->rank * s->rank, sizeof *m->raw, error));
    for (int p = 0; p < 2; p++)
        if (s->dense_of[p] && device_dense_open_extrapolate(s->dense_of[p], error) != STATUS_OK)
            return error->status;
    return cuda_status(device_event_create(&m->decided), "an event", error);
}

void device_momentum_close(struct device_momentum *m)
{
    for (int n = 0; n < MAX_ORDER; n++)
        device_free(m->previous[n].factor, m->previous[n].gram, m->previous[n].norm,
                    m->previous[n].sum);
    device_free(m->raw);
    device_event_destroy(m->decided);
    *m = (struct device_momentum){0};
}

static void swap(double **a, double **b)
{
    double *of_a = *a;
    *a = *b;
    *b = of_a;
}

/* Swaps the factor matrices and the previous ones. */
static void swap_all(struct device_state *s)
{
    for (int n = 0; n < s->order; n++) {
        struct device_previous *previous = &s->momentum.previous[n];
        void *factor = s->sweep.factors.factor[n];
        if (!previous->factor)
            continue;
        s->sweep.factors.factor[n] = previous->factor;
        previous->factor = factor;
        swap(&s->model.gram[n], &previous->gram);
        swap(&s->model.norm[n], &previous->norm);
        swap(&s->rows.sum[n], &previous->sum);
        device_sweep_changed(&s->sweep, n);
    }
}

/* The previous factor matrices, which are Y or S, become the factor matrices; s->model.lambda has
 * lambda. */
static void begin_step(struct device_state *s)
{
    swap_all(s);
    s->momentum.last_mode = s->model.last_mode;
    s->model.last_mode = -1;
}

void device_momentum_set_aside(struct device_state *s)
{
    if (s->momentum.prepared != STEP_BEGUN)
        return;
    swap_all(s);
    s->model.last_mode = s->momentum.last_mode;
    s->momentum.prepared = STEP_ASIDE;
}

void device_momentum_drop(struct device_state *s)
{
    if (s->momentum.prepared == STEP_NONE)
        return;
    device_momentum_set_aside(s);
    s->momentum.prepared = STEP_NONE;
    device_state_drop_m(s);
}

/* The step, for every mode that has a previous factor matrix. Each rank makes the Grams of the rows
 * that it solves; they are summed. */
static struct dense_extrapolate_args step_of_modes(const struct device_state *s)
{
    const struct device_factors *f = &s->sweep.factors;
    struct dense_extrapolate_args args = {.ld = (uint32_t)s->ld,
                                          .rank = (uint32_t)s->rank,
                                          .step = &s->scalars->momentum.step,
                                          .halt = &s->scalars->halt};
    const double keeps = problem_keeps(s->problem->asked);
    for (int n = 0; n < s->order; n++) {
        const struct device_previous *previous = &s->momentum.previous[n];
        const struct mode_rows *rows = &s->ranks.ranks->mode[n];
        if (!previous->factor)
            continue;
        args.mode[args.modes++] =
            (struct dense_extrapolate_mode){.a = f->factor[n],
                                            .s = previous->factor,
                                            .rows = f->shape.dims[n],
                                            .first = rows->first,
                                            .count = rows->count,
                                            .norm_a = s->model.norm[n],
                                            .gram_a = s->model.gram[n],
                                            .norm_s = previous->norm,
                                            .gram_s = previous->gram,
                                            .sum = previous->sum,
                                            .clip = s->problem->asked->rules.nonneg[n],
                                            .keeps = keeps};
    }
    return args;
}

/* Writes Y over the previous factor matrices, with its norms and Grams. */
static enum status queue_step(struct device_state *s, struct error *error)
{
    const struct dense_extrapolate_args args = step_of_modes(s);
    const uint64_t grams = (uint64_t)args.modes * s->rank * s->rank;
    double *raw = s->momentum.raw;
    TRY(device_dense_extrapolate(s->dense, &args, raw, error));
    s->events.end = device_dense_passed(s->dense);
    if (s->rows.rates) { /* and the column sums of Y */
        s->events.end = NULL;
        for (int n = 0; n < s->order; n++) {
            const struct device_previous *previous = &s->momentum.previous[n];
            if (previous->factor)
                TRY(device_row_update_sum_columns(s, n, previous->factor, previous->sum, error));
        }
        TRY(cuda_status(device_queue_follow(s->side, s->stream, s->momentum.decided), doing,
                        error));
    }
    TRY(device_ranks_sum(&s->ranks, raw, raw, grams, s->side, error));
    return cuda_status(dense_extrapolated_norms(&args, raw, s->side), doing, error);
}

/* The step's Grams are made on the side stream: the next sweep's first V needs them there, and
 * where ranks sum them, the wait for the fit notices that another rank has failed. */
enum status device_momentum_queue(struct device_state *s, int mode, const struct momentum *before,
                                  double epsilon, struct error *error)
{
    const bool steps = !momentum_is_plain(before->sweeps + 1);
    const struct dense_momentum_fit fit = {.before = *before,
                                           .terms = &s->scalars->fit,
                                           .norm_sq = s->sweep.orderings.norm_sq,
                                           .epsilon = epsilon,
                                           .ridge = s->problem->asked->rules.ridge[mode],
                                           .lambda = s->model.norm[mode],
                                           .rank = (uint32_t)s->rank};
    /* lambda moves to s->model.lambda, since the norms will be those of Y. */
    TRY(cuda_status(dense_momentum_decide(&fit, &s->scalars->momentum, s->model.lambda,
                                          &s->scalars->halt, s->side),
                    doing, error));
    if (!steps)
        return STATUS_OK;
    TRY(cuda_status(device_queue_follow(s->stream, s->side, s->momentum.decided), doing, error));
    TRY(queue_step(s, error));
    begin_step(s);
    s->momentum.prepared = STEP_BEGUN;
    return STATUS_OK;
}

bool device_momentum_take(struct device_state *s)
{
    if (s->momentum.prepared == STEP_NONE)
        return false;
    if (s->momentum.prepared == STEP_ASIDE)
        begin_step(s);
    s->momentum.prepared = STEP_NONE;
    return true;
}

enum status device_momentum_step(struct device_state *s, const struct momentum_step *step,
                                 struct error *error)
{
    device_state_drop_m(s);
    if (step->now != 0) {
        if (s->model.last_mode >= 0) /* lambda is kept, since the norms will be those of Y */
            TRY(device_copy(s->model.lambda, s->model.norm[s->model.last_mode],
                            s->rank * sizeof *s->model.lambda, s->stream, doing, error));
        TRY(device_send(&s->scalars->momentum.step, step, sizeof *step, s->stream, doing, error));
        TRY(queue_step(s, error));
    }
    begin_step(s);
    return STATUS_OK;
}

void device_state_swap(void *state)
{
    struct device_state *s = state;
    device_momentum_drop(s);
    device_state_drop_m(s);
    begin_step(s);
}
