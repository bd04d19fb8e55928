#include "problem/ktensor_start.h"

#include <math.h>
#include <string.h>

/* Copies the rows of mode n that are here from the whole model. */
static void copy_rows(struct ktensor *k, const struct ktensor *whole, int n)
{
    size_t bytes = k->rank * sizeof *k->lambda;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
        uint64_t row = ktensor_row(k, n, i);
        double *to = k->factor[n] + i * k->rank;
        if (row == NO_ROW)
            memset(to, 0, bytes);
        else
            memcpy(to, whole->factor[n] + row * k->rank, bytes);
    }
}

void entries_drop_signs(double *a, uint64_t count)
{
#pragma omp parallel for schedule(static)
    for (uint64_t e = 0; e < count; e++)
        a[e] = fabs(a[e]);
}

void ktensor_drop_signs(struct ktensor *k, int n)
{
    entries_drop_signs(k->factor[n], k->shape.dims[n] * k->rank);
}

void ktensor_begin(struct ktensor *k, const struct shape *whole, const struct ktensor_start *s,
                   const bool *nonneg)
{
    bool given[MAX_ORDER] = {false}, all = true;
    for (int n = 0; n < k->shape.order; n++) {
        given[n] = s->from && n < s->from->shape.order && s->from->shape.dims[n] == whole->dims[n];
        all = all && given[n];
    }
    if (!all)
        ktensor_randomise(k, s->init, s->seed);
    if (s->from)
        memcpy(k->lambda, s->from->lambda, k->rank * sizeof *k->lambda);
    for (int n = 0; n < k->shape.order; n++)
        if (given[n])
            copy_rows(k, s->from, n);
        else if (nonneg[n])
            ktensor_drop_signs(k, n);
}
