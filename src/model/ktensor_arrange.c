#include "model/ktensor_arrange.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum status ktensor_arrange_part(struct ktensor *k, const struct ktensor_rows *own,
                                 ktensor_combine *combine, void *context, struct error *error)
{
    struct arrangement a = {0};
    double *buffer = memory_array((size_t)omp_get_max_threads(), k->rank * sizeof *buffer, error);
    TRY_OR(done, error->status);
    TRY_OR(done, arrangement_create(&a, k->shape.order, k->rank, error));
    for (int n = 0; n < k->shape.order; n++) {
        const uint64_t first = own->first[n];
        const struct factor_rows rows = {.a = k->factor[n] + first * k->rank,
                                         .rows = own->count[n],
                                         .rank = k->rank,
                                         .first = k->first[n] + first,
                                         .row = k->row[n] ? k->row[n] + first : NULL};
        TRY_OR(done, factor_columns_measure(&rows, a.column + (uint64_t)n * k->rank, error));
    }
    if (combine)
        TRY_OR(done, combine(context, a.column, (uint64_t)k->shape.order * k->rank, error));
    arrangement_decide(&a, k);
    for (int n = 0; n < k->shape.order; n++)
        factor_columns_rearrange(k->factor[n], k->shape.dims[n], k->rank, a.from,
                                 a.divisor + (uint64_t)n * k->rank, buffer);
    arrangement_take(&a, k);
done:
    memory_free(buffer);
    arrangement_free(&a);
    return error->status;
}

enum status ktensor_arrange(struct ktensor *k, struct error *error)
{
    struct ktensor_rows all = {{0}, {0}};
    memcpy(all.count, k->shape.dims, sizeof all.count);
    return ktensor_arrange_part(k, &all, NULL, NULL, error);
}

struct component {
    double lambda;
    uint64_t index;
};

static int larger_first(const void *a, const void *b)
{
    const struct component *x = a, *y = b;
    if (x->lambda != y->lambda)
        return x->lambda > y->lambda ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

enum status arrangement_create(struct arrangement *a, int order, uint64_t rank, struct error *error)
{
    size_t columns = (size_t)order * rank;
    *a = (struct arrangement){.rank = rank};
    a->column = memory_array(columns, sizeof *a->column, error);
    a->signed_norm = memory_array(columns, sizeof *a->signed_norm, error);
    a->divisor = memory_array(columns, sizeof *a->divisor, error);
    a->component = memory_array(rank, sizeof *a->component, error);
    a->from = memory_array(rank, sizeof *a->from, error);
    a->lambda = memory_array(rank, sizeof *a->lambda, error);
    return error->status;
}

void arrangement_free(struct arrangement *a)
{
    memory_free(a->column, a->signed_norm, a->divisor, a->component, a->from, a->lambda);
    *a = (struct arrangement){0};
}

static bool may_flip(const struct ktensor *k, int n)
{
    return !k->fixed[n] && !k->nonneg[n];
}

void arrangement_decide(struct arrangement *a, const struct ktensor *k)
{
    bool some_fixed = false;
    int last = -1; /* the last mode whose signs may be flipped */
    for (int n = 0; n < k->shape.order; n++) {
        some_fixed |= k->fixed[n];
        last = may_flip(k, n) ? n : last;
    }
    /* Lambda is multiplied by the norms and made positive, and the components are sorted. */
    for (uint64_t r = 0; r < k->rank; r++) {
        double lambda = k->lambda[r];
        int odd = lambda < 0, zero = 0;
        for (int n = 0; n < k->shape.order; n++) {
            uint64_t at = (uint64_t)n * k->rank + r;
            double norm = column_norm(&a->column[at]);
            norm = k->mixture && norm > 0 ? 1 : norm;
            a->signed_norm[at] = 1;
            zero |= norm == 0;
            if (k->fixed[n])
                continue;
            lambda *= norm;
            int flip = may_flip(k, n) && (n < last ? a->column[at].largest < 0 : odd);
            odd ^= flip;
            a->signed_norm[at] = norm == 0 ? 1 : flip ? -norm : norm;
        }
        a->component[r] = (struct component){zero ? 0 : fabs(lambda), r};
    }
    if (!some_fixed)
        qsort(a->component, k->rank, sizeof *a->component, larger_first);
    for (uint64_t r = 0; r < k->rank; r++) {
        a->from[r] = a->component[r].index;
        a->lambda[r] = a->component[r].lambda;
    }
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t r = 0; r < k->rank; r++)
            a->divisor[(uint64_t)n * k->rank + r] =
                a->signed_norm[(uint64_t)n * k->rank + a->from[r]];
}

void arrangement_keep(struct arrangement *a, const struct ktensor *k)
{
    for (uint64_t r = 0; r < k->rank; r++) {
        a->from[r] = r;
        a->lambda[r] = k->lambda[r];
    }
    for (uint64_t i = 0; i < (uint64_t)k->shape.order * k->rank; i++)
        a->divisor[i] = 1;
}

static void reorder(struct arrangement *a, double *x)
{
    for (uint64_t r = 0; r < a->rank; r++)
        a->component[r].lambda = x[r];
    for (uint64_t r = 0; r < a->rank; r++)
        x[r] = a->component[a->from[r]].lambda;
}

void arrangement_take(struct arrangement *a, struct ktensor *k)
{
    memcpy(k->lambda, a->lambda, k->rank * sizeof *k->lambda);
    if (!k->explained)
        return;
    reorder(a, k->explained);
    reorder(a, k->lost);
}
