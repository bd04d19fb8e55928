#include "backend/backend.h"

#include <string.h>

#include "backend/nonneg_zeros.h"
#include "backend/value_scale.h"
#include "base/memory.h"
#include "ranks/model_arrange.h"

static void take_rules(struct ktensor *k, const struct mode_rules *rules)
{
    memcpy(k->nonneg, rules->nonneg, sizeof k->nonneg);
    memcpy(k->fixed, rules->fixed, sizeof k->fixed);
}

enum status backend_arrange(struct backend *b, struct ktensor *k, struct error *error)
{
    take_rules(k, &b->rules);
    struct ktensor_rows own = {{0}, {0}};
    for (int n = 0; n < b->order; n++) {
        own.first[n] = b->ranks->mode[n].first;
        own.count[n] = b->ranks->mode[n].count;
    }
    return model_arrange_together(k, &own, b->ranks->all, error);
}

/* lambda of the backend's model, of the tensor as it was given. */
static enum status fetch_weights(struct backend *b, double *lambda, struct error *error)
{
    if (b->kind->ops->weights(b->state, lambda, error) == STATUS_OK && b->exponent)
        value_scale_undo(lambda, b->plan.request.rank, b->exponent, error);
    return error->status;
}

/* bound (N x R): room. */
static struct backend_zeros zeros_of(const struct backend *b, const double *lambda, double *bound)
{
    const uint64_t rank = b->plan.request.rank;
    struct backend_zeros zeros = {.lambda = lambda};
    for (int n = 0; n < b->order; n++) {
        double *of = bound + (uint64_t)n * rank;
        if (!b->at_floor[n])
            continue;
        nonneg_bounds(lambda, rank, b->ranks->part.whole.dims[n], b->floor_of[n], of);
        zeros.bound[n] = of;
    }
    return zeros;
}

static enum status measure(struct backend *b, const struct backend_zeros *zeros,
                           struct column *column, struct error *error)
{
    uint64_t rank = b->plan.request.rank;
    for (int n = 0; n < b->order; n++)
        if (b->kind->ops->columns(b->state, n, zeros, column + (uint64_t)n * rank, error) !=
            STATUS_OK)
            return error->status;
    return model_columns_together(b->ranks->all, column, (uint64_t)b->order * rank, error);
}

enum status backend_arranged_rows(struct backend *b, struct ktensor *k, struct error *error)
{
    struct arrangement a = {0};
    take_rules(k, &b->rules);
    double *bound = memory_array((size_t)b->order * k->rank, sizeof *bound, error);
    if (bound && arrangement_create(&a, b->order, k->rank, error) == STATUS_OK &&
        fetch_weights(b, k->lambda, error) == STATUS_OK) {
        const struct backend_zeros zeros = zeros_of(b, k->lambda, bound);
        if (measure(b, &zeros, a.column, error) == STATUS_OK) {
            arrangement_decide(&a, k);
            b->kind->ops->store_arranged(b->state, k, &zeros, &a, error);
            memcpy(k->lambda, a.lambda, k->rank * sizeof *k->lambda);
        }
    }
    memory_free(bound);
    arrangement_free(&a);
    return error->status;
}
