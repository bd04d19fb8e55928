#include "model/ktensor_arrange.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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

/* What is computed before the model changes. */
struct arrangement {
    struct column *column;       /* (N x R): of the whole factor matrices               */
    double *signed_norm;         /* (N x R): what divides the columns                   */
    struct component *component; /* (R): lambda times the norms, and the old index      */
    uint64_t *from;              /* (R): the old index of the component                 */
    double *divisor;             /* (R): scratch, the divisors of a mode in new order   */
    double *buffer;              /* (threads x R): scratch                              */
};

static enum status arrangement_create(struct arrangement *p, const struct ktensor *k,
                                      struct error *error)
{
    size_t order = (size_t)k->shape.order;
    if ((p->column = memory_array(order * k->rank, sizeof *p->column, error)) &&
        (p->signed_norm = memory_array(order * k->rank, sizeof *p->signed_norm, error)) &&
        (p->component = memory_array(k->rank, sizeof *p->component, error)) &&
        (p->from = memory_array(k->rank, sizeof *p->from, error)) &&
        (p->divisor = memory_array(k->rank, sizeof *p->divisor, error)))
        p->buffer = memory_array((size_t)omp_get_max_threads(), k->rank * sizeof *p->buffer, error);
    return error->status;
}

static void arrangement_free(struct arrangement *p)
{
    memory_free(p->column);
    memory_free(p->signed_norm);
    memory_free(p->component);
    memory_free(p->from);
    memory_free(p->divisor);
    memory_free(p->buffer);
}

static enum status measure(struct arrangement *p, const struct ktensor *k,
                           const struct ktensor_rows *own, struct error *error)
{
    for (int n = 0; n < k->shape.order; n++)
        if (factor_columns_measure(k->factor[n] + own->first[n] * k->rank, own->count[n], k->rank,
                                   k->first[n] + own->first[n], p->column + (uint64_t)n * k->rank,
                                   error) != STATUS_OK)
            return error->status;
    return STATUS_OK;
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
static void decide(struct arrangement *p, const struct ktensor *k)
{
    int last = last_to_flip(k);
    for (uint64_t r = 0; r < k->rank; r++) {
        double lambda = k->lambda[r];
        int odd = lambda < 0, zero = 0;
        for (int n = 0; n < k->shape.order; n++) {
            uint64_t at = (uint64_t)n * k->rank + r;
            double norm = column_norm(&p->column[at]);
            p->signed_norm[at] = 1;
            zero |= norm == 0;
            if (k->fixed[n])
                continue;
            lambda *= norm;
            int flip = may_flip(k, n) && (n < last ? p->column[at].largest < 0 : odd);
            odd ^= flip;
            p->signed_norm[at] = norm == 0 ? 1 : flip ? -norm : norm;
        }
        p->component[r] = (struct component){zero ? 0 : fabs(lambda), r};
    }
    if (!some_fixed(k))
        qsort(p->component, k->rank, sizeof *p->component, larger_first);
    for (uint64_t r = 0; r < k->rank; r++)
        p->from[r] = p->component[r].index;
}

static void apply(struct arrangement *p, struct ktensor *k)
{
    for (int n = 0; n < k->shape.order; n++) {
        for (uint64_t r = 0; r < k->rank; r++)
            p->divisor[r] = p->signed_norm[(uint64_t)n * k->rank + p->from[r]];
        factor_columns_rearrange(k->factor[n], k->shape.dims[n], k->rank, p->from, p->divisor,
                                 p->buffer);
    }
    for (uint64_t r = 0; r < k->rank; r++)
        k->lambda[r] = p->component[r].lambda;
}

struct ktensor_rows ktensor_rows_all(const struct ktensor *k)
{
    struct ktensor_rows all = {{0}, {0}};
    memcpy(all.count, k->shape.dims, sizeof all.count);
    return all;
}

enum status ktensor_arrange_part(struct ktensor *k, const struct ktensor_rows *own,
                                 ktensor_combine *combine, void *context, struct error *error)
{
    struct arrangement p = {0};
    if (arrangement_create(&p, k, error) == STATUS_OK && measure(&p, k, own, error) == STATUS_OK &&
        combine(context, p.column, (uint64_t)k->shape.order * k->rank, error) == STATUS_OK) {
        decide(&p, k);
        apply(&p, k);
    }
    arrangement_free(&p);
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
