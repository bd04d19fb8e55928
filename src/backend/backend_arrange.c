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
    take_rules(k, &b->options.problem.rules);
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

/* diagonal (R) *= that of the Gram of mode n. */
static enum status multiply_by_gram(struct backend *b, int n, double *diagonal, struct error *error)
{
    const uint64_t rank = b->plan.request.rank;
    double *gram = memory_array(rank, rank * sizeof *gram, error);
    if (gram && backend_gram(b, n, gram, error) == STATUS_OK)
        for (uint64_t r = 0; r < rank; r++)
            diagonal[r] *= gram[r * rank + r];
    memory_free(gram);
    return error->status;
}

/* Of all other modes, the columns of fixed ones alone may be no unit columns. */
enum status backend_zero_bounds(struct backend *b, const double *lambda, int n, double *bound,
                                struct error *error)
{
    const uint64_t rank = b->plan.request.rank;
    double *diagonal = memory_array(rank, sizeof *diagonal, error);
    for (uint64_t r = 0; diagonal && r < rank; r++)
        diagonal[r] = 1;
    for (int m = 0; m < b->order && error->status == STATUS_OK; m++)
        if (b->options.problem.rules.fixed[m])
            multiply_by_gram(b, m, diagonal, error);
    if (error->status == STATUS_OK) {
        for (uint64_t r = 0; r < rank; r++)
            diagonal[r] += b->options.problem.rules.ridge[n];
        const struct nonneg_update update = {.lambda = lambda,
                                             .diagonal = diagonal,
                                             .rows = b->ranks->part.whole.dims[n],
                                             .precision = b->floor_of[n]};
        nonneg_bounds(&update, rank, bound);
    }
    memory_free(diagonal);
    return error->status;
}

/* bound (N x R): room. */
static enum status find_zeros(struct backend *b, const double *lambda, double *bound,
                              struct backend_zeros *zeros, struct error *error)
{
    *zeros = (struct backend_zeros){.lambda = lambda};
    for (int n = 0; n < b->order && error->status == STATUS_OK; n++) {
        double *of = bound + (uint64_t)n * b->plan.request.rank;
        if (b->at_floor[n] && backend_zero_bounds(b, lambda, n, of, error) == STATUS_OK)
            zeros->bound[n] = of;
    }
    return error->status;
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
    take_rules(k, &b->options.problem.rules);
    double *bound = memory_array((size_t)b->order * k->rank, sizeof *bound, error);
    if (bound && arrangement_create(&a, b->order, k->rank, error) == STATUS_OK &&
        fetch_weights(b, k->lambda, error) == STATUS_OK) {
        struct backend_zeros zeros;
        if (find_zeros(b, k->lambda, bound, &zeros, error) == STATUS_OK &&
            measure(b, &zeros, a.column, error) == STATUS_OK) {
            arrangement_decide(&a, k);
            b->kind->ops->store_arranged(b->state, k, &zeros, &a, error);
            memcpy(k->lambda, a.lambda, k->rank * sizeof *k->lambda);
        }
    }
    memory_free(bound);
    arrangement_free(&a);
    return error->status;
}
