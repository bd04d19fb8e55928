#include "backend/backend.h"

#include <math.h>
#include <string.h>

#include "backend/nonneg_zeros.h"
#include "backend/value_scale.h"
#include "base/clock.h"
#include "base/memory.h"

const char *operation_name(enum operation op)
{
    static const char *const names[OP_COUNT] = {"open", "load",     "mttkrp", "update",
                                                "fit",  "residual", "store"};
    return names[op];
}

bool operation_has_modes(enum operation op)
{
    return op == OP_MTTKRP || op == OP_UPDATE;
}

/* Books the time between all stamps that are not booked yet. The present end of the queue becomes
 * stamp 0 of the next ones. */
static enum status collect(struct backend *b, struct error *error)
{
    const struct backend_ops *ops = b->kind->ops;
    enum status status = STATUS_OK;
    for (int i = 1; i <= b->stamps && status == STATUS_OK; i++) {
        double seconds = 0;
        status = ops->elapsed(b->state, i - 1, i, &seconds, error);
        b->seconds[b->stamped[i].op][b->stamped[i].mode] += seconds;
    }
    b->stamps = 0;
    return status == STATUS_OK ? ops->stamp(b->state, 0, error) : status;
}

/* Books the operation that has returned `status`. Where operations are queued, its time is the time
 * between stamps in the queue. Stamps are read after a fit or a rotation, when the host has waited
 * for the queue anyway, before an operation that ends when its call returns (a load, a residual, a
 * store), or when their numbers run out. */
static enum status account(struct backend *b, enum operation op, int mode, double start,
                           enum status status, struct error *error)
{
    const struct backend_ops *ops = b->kind->ops;
    b->calls[op][mode]++;
    if (op == OP_LOAD || op == OP_RESIDUAL || op == OP_STORE || !ops->stamp) {
        b->seconds[op][mode] += clock_now() - start;
        return status == STATUS_OK && ops->stamp ? ops->stamp(b->state, 0, error) : status;
    }
    if (status != STATUS_OK)
        return status;
    b->stamps++;
    b->stamped[b->stamps].op = op;
    b->stamped[b->stamps].mode = mode;
    status = ops->stamp(b->state, b->stamps, error);
    if (status == STATUS_OK && (op == OP_FIT || b->stamps == BACKEND_STAMPS - 1))
        status = collect(b, error);
    return status;
}

/* An operation on mode `mode` needs what the one on mode `last` has left. */
static enum status need(int mode, int last, const char *what, struct error *error)
{
    if (mode == last)
        return STATUS_OK;
    if (last < 0)
        return error_set(error, STATUS_INTERNAL, "mode %d: there is no %s", mode + 1, what);
    return error_set(error, STATUS_INTERNAL, "mode %d: the last %s was that of mode %d", mode + 1,
                     what, last + 1);
}

/* Loads a model whose weights are divided as the tensor is. */
static enum status load_scaled(struct backend *b, const struct ktensor *k,
                               const struct carried *carried, struct error *error)
{
    struct ktensor scaled = *k;
    scaled.lambda = memory_array(k->rank, sizeof *k->lambda, error);
    if (!scaled.lambda)
        return error->status;
    for (uint64_t r = 0; r < k->rank; r++)
        scaled.lambda[r] = ldexp(k->lambda[r], -b->exponent);
    enum status status = b->kind->ops->load(b->state, &scaled, carried, error);
    memory_free(scaled.lambda);
    return status;
}

/* Entries of factor matrices get another precision, where they have not that one. */
static enum status set_precision(struct backend *b, enum precision precision, bool keep,
                                 struct error *error)
{
    if (b->precision == precision)
        return STATUS_OK;
    enum status status = b->kind->ops->set_precision(b->state, precision, keep, error);
    if (status == STATUS_OK)
        b->precision = precision;
    return status;
}

/* Another model is to come, of entries of this precision. Operations that are still queued are
 * booked first, as of backend_residual. */
static enum status forget_model(struct backend *b, bool resumes, enum precision precision,
                                struct error *error)
{
    if (b->stamps > 0 && collect(b, error) != STATUS_OK)
        return error->status;
    b->m_mode = b->updated_mode = -1;
    b->rotated = false;
    for (int n = 0; n < b->order; n++) {
        b->at_floor[n] =
            resumes && b->options.problem.rules.nonneg[n] && !b->options.problem.rules.fixed[n];
        b->floor_of[n] = precision;
    }
    return set_precision(b, precision, false, error);
}

static enum status load(struct backend *b, const struct ktensor *k, const struct carried *carried,
                        enum precision precision, struct error *error)
{
    if (forget_model(b, carried != NULL, precision, error) != STATUS_OK)
        return error->status;
    double start = clock_now();
    enum status status = b->exponent ? load_scaled(b, k, carried, error)
                                     : b->kind->ops->load(b->state, k, carried, error);
    return account(b, OP_LOAD, 0, start, status, error);
}

enum status backend_resume(struct backend *b, const struct ktensor *k,
                           const struct carried *carried, struct error *error)
{
    return load(b, k, carried, b->options.problem.single_first ? carried->precision : b->precision,
                error);
}

enum status backend_load(struct backend *b, const struct ktensor *k, struct error *error)
{
    return load(b, k, NULL, b->options.problem.single_first ? PRECISION_DOUBLE : b->precision,
                error);
}

enum status backend_begin(struct backend *b, const struct ktensor *k, struct error *error)
{
    return load(b, k, NULL, problem_first_precision(&b->options.problem), error);
}

enum status backend_widen(struct backend *b, struct error *error)
{
    if (b->stamps > 0 && collect(b, error) != STATUS_OK)
        return error->status;
    double start = clock_now();
    b->m_mode = b->updated_mode = -1;
    return account(b, OP_LOAD, 0, start, set_precision(b, PRECISION_DOUBLE, true, error), error);
}

enum status backend_randomise(struct backend *b, enum ktensor_init init, uint64_t seed,
                              struct error *error)
{
    const enum precision first = problem_first_precision(&b->options.problem);
    if (forget_model(b, false, first, error) != STATUS_OK)
        return error->status;
    double start = clock_now();
    enum status status = backend_random_start(b, init, seed, error);
    return account(b, OP_LOAD, 0, start, status, error);
}

enum status backend_mttkrp(struct backend *b, int mode, struct error *error)
{
    double start = clock_now();
    b->m_mode = mode;
    b->updated_mode = -1;
    enum status status = b->kind->ops->mttkrp(b->state, mode, error);
    return account(b, OP_MTTKRP, mode, start, status, error);
}

enum status backend_update(struct backend *b, int mode, struct error *error)
{
    double start = clock_now();
    if (b->options.problem.rules.fixed[mode])
        return error_set(error, STATUS_INTERNAL, "mode %d is fixed", mode + 1);
    if (need(mode, b->m_mode, "MTTKRP", error) != STATUS_OK)
        return error->status;
    if (b->rotated)
        return error_set(error, STATUS_INTERNAL, "mode %d: an update of rotated columns", mode + 1);
    b->m_mode = -1;
    b->updated_mode = mode;
    b->at_floor[mode] = b->options.problem.rules.nonneg[mode];
    b->floor_of[mode] = b->precision;
    enum status status = b->kind->ops->update(b->state, mode, error);
    return account(b, OP_UPDATE, mode, start, status, error);
}

enum status backend_fit(struct backend *b, int mode, const struct momentum *m,
                        struct backend_fit *fit, struct error *error)
{
    double start = clock_now();
    if (need(mode, b->updated_mode, "update", error) != STATUS_OK)
        return error->status;
    if (m && !b->plan.request.momentum)
        return error_set(error, STATUS_INTERNAL, "momentum, but no previous factor matrices");
    enum status status = b->kind->ops->fit(b->state, mode, m, fit, error);
    return account(b, OP_FIT, mode, start, status, error);
}

enum status backend_extrapolate(struct backend *b, const struct momentum_step *step,
                                struct error *error)
{
    double start = clock_now();
    if (!b->plan.request.momentum || b->updated_mode < 0)
        return error_set(error, STATUS_INTERNAL, "an extrapolation without a sweep before");
    int mode = b->updated_mode;
    b->m_mode = b->updated_mode = -1;
    enum status status = b->kind->ops->extrapolate(b->state, step, error);
    if (!b->kind->ops->stamp)
        b->seconds[OP_FIT][mode] += clock_now() - start;
    return status;
}

void backend_swap(struct backend *b)
{
    b->m_mode = b->updated_mode = -1;
    b->kind->ops->swap(b->state);
}

/* Operations that are still queued are booked first: this one ends when its call returns. */
enum status backend_residual(struct backend *b, double *fit, struct error *error)
{
    struct backend_residual r = {0};
    if (b->stamps > 0 && collect(b, error) != STATUS_OK)
        return error->status;
    double start = clock_now();
    enum status status = backend_residual_create(&r, b->order, b->plan.request.rank, error);
    if (status == STATUS_OK)
        status = b->kind->ops->residual(b->state, &r, error);
    if (status == STATUS_OK)
        status = backend_residual_fit(&r, b->ranks->all, fit, error);
    backend_residual_free(&r);
    return account(b, OP_RESIDUAL, 0, start, status, error);
}

enum status backend_gram(struct backend *b, int mode, double *gram, struct error *error)
{
    return b->kind->ops->gram(b->state, mode, gram, error);
}

enum status backend_weights(struct backend *b, double *lambda, struct error *error)
{
    return b->kind->ops->weights(b->state, lambda, error);
}

enum status backend_save(struct backend *b, struct ktensor *k, struct carried *carried,
                         struct error *error)
{
    if (b->stamps > 0 && collect(b, error) != STATUS_OK)
        return error->status;
    double start = clock_now();
    enum status status = b->kind->ops->store(b->state, k, carried, error);
    if (carried)
        carried->precision = b->precision;
    if (status == STATUS_OK && b->exponent)
        status = value_scale_undo(k->lambda, k->rank, b->exponent, error);
    return account(b, OP_STORE, 0, start, status, error);
}

enum status backend_store(struct backend *b, struct ktensor *k, struct error *error)
{
    if (backend_save(b, k, NULL, error) != STATUS_OK)
        return error->status;
    double *bound = memory_array(k->rank, sizeof *bound, error);
    for (int n = 0; bound && n < b->order; n++)
        if (b->at_floor[n] && backend_zero_bounds(b, k->lambda, n, bound, error) == STATUS_OK)
            nonneg_zeros(k, n, bound);
    memory_free(bound);
    return error->status;
}

enum status backend_store_arranged(struct backend *b, struct ktensor *k, struct error *error)
{
    if (!b->kind->ops->columns)
        return backend_store(b, k, error) == STATUS_OK ? backend_arrange(b, k, error)
                                                       : error->status;
    if (b->stamps > 0 && collect(b, error) != STATUS_OK)
        return error->status;
    double start = clock_now();
    b->m_mode = b->updated_mode = -1;
    enum status status = backend_arranged_rows(b, k, error);
    return account(b, OP_STORE, 0, start, status, error);
}

enum status backend_fetch(struct backend *b, int mode, double *m, struct error *error)
{
    if (need(mode, b->m_mode, "MTTKRP", error) != STATUS_OK)
        return error->status;
    enum status status = b->kind->ops->fetch(b->state, mode, m, error);
    uint64_t entries = b->plan.request.tensor.shape.dims[mode] * b->plan.request.rank;
    return status == STATUS_OK && b->exponent ? value_scale_undo(m, entries, b->exponent, error)
                                              : status;
}

enum status backend_rotate(struct backend *b, int mode, struct error *error)
{
    b->m_mode = b->updated_mode = -1;
    b->rotated = true;
    enum status status = b->kind->ops->rotate(b->state, mode, error);
    return status == STATUS_OK && b->stamps > 0 ? collect(b, error) : status;
}

bool backend_describe(struct backend *b, int mode, char *text, size_t size)
{
    text[0] = '\0';
    return !b->kind->ops->describe || b->kind->ops->describe(b->state, mode, text, size);
}

uint64_t backend_bus_bytes(struct backend *b, int mode)
{
    return b->kind->ops->bus_bytes ? b->kind->ops->bus_bytes(b->state, mode) : 0;
}

void backend_built(struct backend *b, struct backend_built *built)
{
    b->kind->ops->built(b->state, built);
}

enum status backend_time_mttkrp(struct backend *b, int mode, uint64_t count, double *seconds,
                                struct error *error)
{
    const struct backend_ops *ops = b->kind->ops;
    enum status status = ops->stamp ? ops->stamp(b->state, 0, error) : STATUS_OK;
    b->m_mode = mode;
    b->updated_mode = -1;
    for (uint64_t i = 0; i < count && status == STATUS_OK; i++) {
        double start = clock_now();
        status = ops->mttkrp(b->state, mode, error);
        seconds[i] = clock_now() - start;
        if (status == STATUS_OK && ops->stamp)
            status = ops->stamp(b->state, (int)i + 1, error);
    }
    for (uint64_t i = 0; i < count && status == STATUS_OK && ops->stamp; i++)
        status = ops->elapsed(b->state, (int)i, (int)i + 1, &seconds[i], error);
    return status;
}

void backend_clear_times(struct backend *b)
{
    memset(b->seconds, 0, sizeof b->seconds);
    memset(b->calls, 0, sizeof b->calls);
}

void backend_close(struct backend *b)
{
    if (b->kind && b->state)
        b->kind->ops->close(b->state);
    if (b->own)
        rank_tensor_close(b->own);
    memory_free(b->own);
    comm_close(b->self);
    memset(b, 0, sizeof *b);
}
