#include "support/naive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint64_t naive_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

void naive_mttkrp(const struct coo *x, const struct ktensor *k, int mode, long double *m)
{
    memset(m, 0, x->shape.dims[mode] * k->rank * sizeof *m);
    for (uint64_t i = 0; i < x->nnz; i++) {
        for (uint64_t r = 0; r < k->rank; r++) {
            long double product = x->value[i];
            for (int n = 0; n < x->shape.order; n++)
                if (n != mode)
                    product *= k->factor[n][x->index[n][i] * k->rank + r];
            m[x->index[mode][i] * k->rank + r] += product;
        }
    }
}

static long double model_at(const struct coo *x, const struct ktensor *k, uint64_t i)
{
    long double sum = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        long double product = k->lambda[r];
        for (int n = 0; n < x->shape.order; n++)
            product *= k->factor[n][x->index[n][i] * k->rank + r];
        sum += product;
    }
    return sum;
}

static long double model_norm_sq(const struct ktensor *k)
{
    long double sum = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        for (uint64_t s = 0; s < k->rank; s++) {
            long double product = (long double)k->lambda[r] * k->lambda[s];
            for (int n = 0; n < k->shape.order; n++) {
                long double dot = 0;
                for (uint64_t i = 0; i < k->shape.dims[n]; i++)
                    dot +=
                        (long double)k->factor[n][i * k->rank + r] * k->factor[n][i * k->rank + s];
                product *= dot;
            }
            sum += product;
        }
    }
    return sum;
}

long double naive_fit(const struct coo *x, const struct ktensor *k)
{
    long double norm_sq = 0, inner = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        norm_sq += (long double)x->value[i] * x->value[i];
        inner += x->value[i] * model_at(x, k, i);
    }
    long double residual_sq = norm_sq - 2 * inner + model_norm_sq(k);
    return 1 - sqrtl(residual_sq > 0 ? residual_sq : 0) / sqrtl(norm_sq);
}

long double naive_relative_error(const double *a, const long double *b, uint64_t n)
{
    long double difference = 0, norm = 0;
    for (uint64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrtl(norm > 0 ? difference / norm : difference);
}

static int compare_coordinates(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    for (int n = 0; n < MAX_ORDER; n++)
        if (x[n] != y[n])
            return x[n] < y[n] ? -1 : 1;
    return 0;
}

void naive_random_coo(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed,
                      int skewed)
{
    struct error error = {0};
    uint32_t(*c)[MAX_ORDER] = calloc(nnz ? nnz : 1, sizeof *c);
    assert_non_null(c);
    for (uint64_t i = 0; i < nnz; i++)
        for (int n = 0; n < shape->order; n++) {
            double u = (double)(naive_random(&seed) >> 11) * 0x1p-53;
            c[i][n] = (uint32_t)((double)shape->dims[n] * (skewed ? u * u * u * u : u));
        }
    qsort(c, nnz, sizeof *c, compare_coordinates);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < nnz; i++)
        if (i == 0 || compare_coordinates(c[i], c[kept - 1]) != 0)
            memmove(c[kept++], c[i], sizeof *c);
    for (uint64_t i = kept; i > 1; i--) { /* shuffled: a file's order is any order */
        uint64_t j = naive_random(&seed) % i;
        uint32_t swap[MAX_ORDER];
        memcpy(swap, c[j], sizeof swap);
        memmove(c[j], c[i - 1], sizeof swap);
        memcpy(c[i - 1], swap, sizeof swap);
    }
    assert_int_equal(coo_create(x, SHAPE(shape->order, shape->dims), kept, &error), STATUS_OK);
    for (uint64_t i = 0; i < kept; i++) {
        for (int n = 0; n < shape->order; n++)
            x->index[n][i] = c[i][n];
        x->value[i] = ((double)(naive_random(&seed) >> 11) + 0.5) * 0x1p-52 - 1.0;
    }
    free(c);
}
