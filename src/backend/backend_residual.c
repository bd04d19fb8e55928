#include "backend/backend_residual.h"

#include <math.h>

#include "backend/backend_fit.h"
#include "base/memory.h"

enum status backend_residual_create(struct backend_residual *r, int order, uint64_t rank,
                                    struct error *error)
{
    *r = (struct backend_residual){.order = order, .rank = rank, .unlisted = 1};
    r->weight = memory_zeros(rank, sizeof *r->weight, error);
    for (int n = 0; n < order; n++)
        r->gram[n] = memory_zeros(rank, rank * sizeof *r->gram[n], error);
    if (error->status != STATUS_OK)
        backend_residual_free(r);
    return error->status;
}

void backend_residual_free(struct backend_residual *r)
{
    memory_free(r->weight);
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(r->gram[n]);
    *r = (struct backend_residual){0};
}

/* x[0..count) = the sums of all ranks' x, in the order of the ranks. */
static enum status sum_ranks(struct comm *c, struct double_double *x, uint64_t count,
                             struct error *error)
{
    size_t bytes = count * sizeof *x;
    if (c->size == 1)
        return STATUS_OK;
    struct double_double *all = memory_array((size_t)c->size, bytes, error);
    if (!all) {
        comm_abort(c, error);
        return error->status;
    }
    TRY_OR(done, comm_allgather(c, x, bytes, all, error));
    for (uint64_t i = 0; i < count; i++) {
        x[i] = all[i];
        for (int k = 1; k < c->size; k++)
            x[i] = dd_add(x[i], all[(uint64_t)k * count + i]);
    }
done:
    memory_free(all);
    return error->status;
}

/* ||Y||^2 = w' (G_1 * ... * G_N) w, from the upper triangles of whole Grams. */
static struct double_double model_sq(const struct backend_residual *r)
{
    struct double_double sum = {0, 0};
    for (uint64_t i = 0; i < r->rank; i++)
        for (uint64_t j = i; j < r->rank; j++) {
            struct double_double term = two_product(r->weight[i], r->weight[j]);
            for (int n = 0; n < r->order; n++)
                term = dd_product(term, r->gram[n][i * r->rank + j]);
            sum = dd_add(sum, dd_times(term, i == j ? 1 : 2));
        }
    return sum;
}

enum status backend_residual_fit(struct backend_residual *r, struct comm *c, double *fit,
                                 struct error *error)
{
    TRY(sum_ranks(c, &r->nonzeros, 1, error));
    for (int n = 0; n < r->order; n++)
        TRY(sum_ranks(c, r->gram[n], r->rank * r->rank, error));
    struct double_double residual_sq = dd_add(r->nonzeros, dd_times(model_sq(r), r->unlisted));
    if (!isfinite(residual_sq.high))
        return error_set(error, STATUS_NUMERICAL, "the squared residual is %g", residual_sq.high);
    *fit = fit_of_residual(residual_sq.high, r->norm_sq);
    return STATUS_OK;
}
