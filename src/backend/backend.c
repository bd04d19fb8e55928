#include "backend/backend.h"

#include <math.h>
#include <string.h>

#include "backend/value_scale.h"
#include "base/memory.h"

const struct operation_times *backend_times(const struct backend *b)
{
    return &b->clock.times;
}

void backend_clear_times(struct backend *b)
{
    b->clock.times = (struct operation_times){0};
}

static void note(struct backend *b, enum operation op, int mode)
{
    b->last.op = op;
    b->last.mode = mode;
}

/* Fails unless the last operation was `op` (in messages `what`) on this mode. */
static enum status need(const struct backend *b, enum operation op, int mode, const char *what,
                        struct error *error)
{
    const struct last_operation *last = &b->last;
    if (last->op != op)
        return error_set(error, STATUS_INTERNAL, "mode %d: there is no %s", mode + 1, what);
    if (last->mode != mode)
        return error_set(error, STATUS_INTERNAL, "mode %d: the last %s was that of mode %d",
                         mode + 1, what, last->mode + 1);
    return STATUS_OK;
}

enum status backend_mttkrp(struct backend *b, int mode, struct error *error)
{
    note(b, OP_MTTKRP, mode);
    TRY(operation_begin(&b->clock, OP_MTTKRP, error));
    TRY(b->kind->ops->mttkrp(b->state, mode, error));
    return operation_end(&b->clock, OP_MTTKRP, mode, error);
}

enum status backend_update(struct backend *b, int mode, struct error *error)
{
    if (b->options.problem.rules.fixed[mode])
        return error_set(error, STATUS_INTERNAL, "mode %d is fixed", mode + 1);
    TRY(need(b, OP_MTTKRP, mode, "MTTKRP", error));
    if (b->last.rotated)
        return error_set(error, STATUS_INTERNAL, "mode %d: an update of rotated columns", mode + 1);
    note(b, OP_UPDATE, mode);
    b->floors.may[mode] =
        b->options.problem.rules.nonneg[mode] && !problem_by_rows(&b->options.problem);
    b->floors.precision[mode] = b->precision;
    TRY(operation_begin(&b->clock, OP_UPDATE, error));
    TRY(b->kind->ops->update(b->state, mode, error));
    return operation_end(&b->clock, OP_UPDATE, mode, error);
}

void backend_weigh(struct backend *b, const struct unlisted_count *count)
{
    b->problem.count = *count;
}

void backend_take_ridge(struct backend *b, double ridge)
{
    for (int n = 0; n < b->order; n++)
        b->options.problem.rules.ridge[n] = ridge;
}

enum status backend_fit(struct backend *b, int mode, const struct momentum *m,
                        struct backend_fit *fit, struct error *error)
{
    TRY(need(b, OP_UPDATE, mode, "update", error));
    if (m && !b->plan.request.momentum)
        return error_set(error, STATUS_INTERNAL, "momentum, but no previous factor matrices");
    TRY(operation_begin(&b->clock, OP_FIT, error));
    TRY(b->kind->ops->fit(b->state, mode, m, fit, error));
    return operation_end(&b->clock, OP_FIT, mode, error);
}

enum status backend_values(struct backend *b, const struct coo *at, double *value,
                           struct error *error)
{
    TRY(operation_begin(&b->clock, OP_FIT, error));
    TRY(b->kind->ops->values(b->state, at, value, error));
    for (uint64_t i = 0; b->problem.exponent != 0 && i < at->nnz; i++)
        value[i] = ldexp(value[i], b->problem.exponent);
    operation_add(&b->clock, OP_FIT, b->last.mode);
    return STATUS_OK;
}

enum status backend_hold_terms(struct backend *b, int mode, bool *held, struct error *error)
{
    TRY(operation_begin(&b->clock, OP_FIT, error));
    TRY(b->kind->ops->hold(b->state, mode, held, error));
    int lacks = !*held;
    TRY(comm_allreduce_max(b->ranks->all, &lacks, error));
    *held = !lacks;
    operation_add(&b->clock, OP_FIT, b->last.mode);
    return lacks ? b->kind->ops->drop(b->state, error) : STATUS_OK;
}

enum status backend_drop_terms(struct backend *b, struct error *error)
{
    return b->kind->ops->drop(b->state, error);
}

enum status backend_extrapolate(struct backend *b, const struct momentum_step *step,
                                struct error *error)
{
    const int mode = b->last.mode;
    if (!b->plan.request.momentum || b->last.op != OP_UPDATE)
        return error_set(error, STATUS_INTERNAL, "an extrapolation without a sweep before");
    note(b, OP_LOAD, 0);
    TRY(operation_begin(&b->clock, OP_FIT, error));
    TRY(b->kind->ops->extrapolate(b->state, step, error));
    operation_add(&b->clock, OP_FIT, mode);
    return STATUS_OK;
}

void backend_swap(struct backend *b)
{
    note(b, OP_LOAD, 0);
    b->kind->ops->swap(b->state);
}

double backend_unknown(const struct backend *b)
{
    return b->problem.unknown;
}

double backend_mean_count(const struct backend *b)
{
    return ldexp(b->problem.null.mean, b->problem.exponent);
}

void backend_likelihood(const struct backend *b, double fit, double *deviance,
                        double *log_likelihood)
{
    const double half = ldexp((1 - fit) * b->problem.null.deviance, b->problem.exponent);
    const bool counts = problem_has_rates(&b->options.problem);
    *deviance = counts ? 2 * half : 0;
    *log_likelihood = counts ? b->problem.null.perfect - half : 0;
}

enum status backend_residual(struct backend *b, struct backend_fit *fit, struct error *error)
{
    const struct problem *problem = &b->options.problem;
    TRY(operation_begin(&b->clock, OP_RESIDUAL, error));
    if (problem_has_rates(problem)) { /* every fit is from a pass over the nonzeros */
        struct backend_fit of_counts;
        TRY(b->kind->ops->fit(b->state, mode_rules_last(&problem->rules, b->order), NULL,
                              &of_counts, error));
        *fit = backend_fit_exact(fit, of_counts.value, 0, b->precision);
        fit->written = of_counts.noise;
    } else {
        struct backend_residual r;
        TRY(backend_residual_create(&r, b->order, problem->rank, error));
        if (b->kind->ops->residual(b->state, &r, error) == STATUS_OK)
            backend_residual_fit(&r, b->ranks->all, b->precision, fit, error);
        backend_residual_free(&r);
        TRY(error->status);
    }
    return operation_end(&b->clock, OP_RESIDUAL, 0, error);
}

/* *sum and the Grams count the same scaled columns, so that the scale of the values cancels. */
enum status backend_components(struct backend *b, double *explained, double *lost,
                               struct error *error)
{
    const uint64_t rank = b->options.problem.rank;
    const bool rates = problem_has_rates(&b->options.problem);
    const double unlisted = b->problem.count.weight;
    struct backend_built built;
    double total = 0;
    double *sum = memory_zeros(2, rank * sizeof *sum, error);
    double *lambda = memory_array(rank, sizeof *lambda, error);
    double *gram = memory_array(rank, rank * sizeof *gram, error);    /* of a mode       */
    double *product = memory_array(rank, rank * sizeof *gram, error); /* of all of these */
    TRY_OR(done, error->status);
    TRY_OR(done, operation_begin(&b->clock, OP_COMPONENTS, error));
    TRY_OR(done, b->kind->ops->components(b->state, sum, error));
    TRY_OR(done, comm_allreduce_sum(b->ranks->all, sum, 2 * rank, error));
    TRY_OR(done, b->kind->ops->weights(b->state, lambda, error));
    for (int n = 0; n < b->order; n++) {
        TRY_OR(done, b->kind->ops->gram(b->state, n, gram, error));
        for (uint64_t i = 0; i < rank * rank; i++)
            product[i] = gram[i] * (n > 0 ? product[i] : 1);
    }
    b->kind->ops->built(b->state, &built);
    for (uint64_t r = 0; r < rank; r++)
        total += sum[r];
    for (uint64_t r = 0; r < rank; r++) {
        const double own = lambda[r] * lambda[r] * product[r * rank + r]; /* ||component||^2 */
        double inner = 0;                                                 /* with the model  */
        for (uint64_t q = 0; q < rank; q++)
            inner += lambda[r] * lambda[q] * product[r * rank + q];
        explained[r] = rates ? sum[r] / total : (sum[r] - unlisted * own) / built.norm_sq;
        lost[r] = rates ? NAN : (sum[rank + r] - unlisted * (2 * inner - own)) / built.norm_sq;
    }
    operation_end(&b->clock, OP_COMPONENTS, 0, error);
done:
    memory_free(sum, lambda, gram, product);
    return error->status;
}

enum status backend_fetch(struct backend *b, int mode, double *m, struct error *error)
{
    TRY(need(b, OP_MTTKRP, mode, "MTTKRP", error));
    TRY(b->kind->ops->fetch(b->state, mode, m, error));
    const uint64_t entries = b->plan.request.tensor.shape.dims[mode] * b->options.problem.rank;
    return value_scale_undo(m, entries, b->problem.exponent, error);
}

/* ops->rotate has waited for the queue, so that its events can be read. */
enum status backend_rotate(struct backend *b, int mode, struct error *error)
{
    b->last = (struct last_operation){.op = OP_LOAD, .rotated = true};
    TRY(b->kind->ops->rotate(b->state, mode, error));
    return b->clock.queued > 0 ? operation_wait(&b->clock, error) : STATUS_OK;
}

void backend_built(struct backend *b, struct backend_built *built)
{
    b->kind->ops->built(b->state, built);
}

enum status backend_time_mttkrp(struct backend *b, int mode, uint64_t count, double *seconds,
                                struct error *error)
{
    struct operation_clock *clock = &b->clock;
    TRY(operation_wait(clock, error));
    clock->sample = seconds;
    for (uint64_t i = 0; i < count && error->status == STATUS_OK; i++)
        backend_mttkrp(b, mode, error);
    if (error->status == STATUS_OK)
        operation_wait(clock, error);
    clock->sample = NULL;
    return error->status;
}

void backend_close(struct backend *b)
{
    if (b->state)
        b->kind->ops->close(b->state);
    if (b->own)
        rank_tensor_close(b->own);
    memory_free(b->own);
    comm_finalize(b->self);
    memset(b, 0, sizeof *b);
}
