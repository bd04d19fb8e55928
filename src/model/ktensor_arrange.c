#include "model/ktensor_arrange.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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
    if ((a->column = memory_array(columns, sizeof *a->column, error)) &&
        (a->signed_norm = memory_array(columns, sizeof *a->signed_norm, error)) &&
        (a->divisor = memory_array(columns, sizeof *a->divisor, error)) &&
        (a->component = memory_array(rank, sizeof *a->component, error)) &&
        (a->from = memory_array(rank, sizeof *a->from, error)))
        a->lambda = memory_array(rank, sizeof *a->lambda, error);
    return error->status;
}

void arrangement_free(struct arrangement *a)
{
    memory_free(a->column);
    memory_free(a->signed_norm);
    memory_free(a->divisor);
    memory_free(a->component);
    memory_free(a->from);
    memory_free(a->lambda);
    *a = (struct arrangement){0};
}

static bool may_flip(const struct ktensor *k, int n)
{
    return !k->fixed[n] && !k->nonneg[n];
}

/* The last mode whose signs may be flipped; -1 where there is none. */
static int last_to_flip(const struct ktensor *k)
{
    int n = k->shape.order - 1;
    while (n >= 0 && !may_flip(k, n))
        n--;
    return n;
}

static bool some_fixed(const struct ktensor *k)
{
    bool some = false;
    for (int n = 0; n < k->shape.order; n++)
        some = some || k->fixed[n];
    return some;
}

/* Multiplies lambda by the norms, makes lambda positive and sorts the components. */
static void sort_components(struct arrangement *a, const struct ktensor *k)
{
    int last = last_to_flip(k);
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
    if (!some_fixed(k))
        qsort(a->component, k->rank, sizeof *a->component, larger_first);
}

void arrangement_decide(struct arrangement *a, const struct ktensor *k)
{
    sort_components(a, k);
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
