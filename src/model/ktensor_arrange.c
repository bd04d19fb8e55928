#include "model/ktensor_arrange.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "model/arrangement.h"

struct ktensor_rows ktensor_rows_all(const struct ktensor *k)
{
    struct ktensor_rows all = {{0}, {0}};
    memcpy(all.count, k->shape.dims, sizeof all.count);
    return all;
}

static enum status measure(struct arrangement *a, const struct ktensor *k,
                           const struct ktensor_rows *own, struct error *error)
{
    for (int n = 0; n < k->shape.order; n++) {
        const uint64_t first = own->first[n];
        const struct factor_rows rows = {.a = k->factor[n] + first * k->rank,
                                         .rows = own->count[n],
                                         .rank = k->rank,
                                         .first = k->first[n] + first,
                                         .row = k->row[n] ? k->row[n] + first : NULL};
        TRY(factor_columns_measure(&rows, a->column + (uint64_t)n * k->rank, error));
    }
    return STATUS_OK;
}

/* buffer: scratch of factor_columns_rearrange. */
static void apply(const struct arrangement *a, struct ktensor *k, double *buffer)
{
    for (int n = 0; n < k->shape.order; n++)
        factor_columns_rearrange(k->factor[n], k->shape.dims[n], k->rank, a->from,
                                 a->divisor + (uint64_t)n * k->rank, buffer);
    memcpy(k->lambda, a->lambda, k->rank * sizeof *k->lambda);
}

enum status ktensor_arrange_part(struct ktensor *k, const struct ktensor_rows *own,
                                 ktensor_combine *combine, void *context, struct error *error)
{
    struct arrangement a = {0};
    double *buffer = memory_array((size_t)omp_get_max_threads(), k->rank * sizeof *buffer, error);
    if (!buffer)
        goto done;
    TRY_OR(done, arrangement_create(&a, k->shape.order, k->rank, error));
    TRY_OR(done, measure(&a, k, own, error));
    TRY_OR(done, combine(context, a.column, (uint64_t)k->shape.order * k->rank, error));
    arrangement_decide(&a, k);
    apply(&a, k, buffer);
done:
    memory_free(buffer);
    arrangement_free(&a);
    return error->status;
}

static enum status all_is_here(void *context, struct column *column, uint64_t count,
                               struct error *error)
{
    (void)context, (void)column, (void)count, (void)error;
    return STATUS_OK;
}

enum status ktensor_arrange(struct ktensor *k, struct error *error)
{
    const struct ktensor_rows all = ktensor_rows_all(k);
    return ktensor_arrange_part(k, &all, all_is_here, NULL, error);
}
