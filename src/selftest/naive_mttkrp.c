#include "selftest/naive_mttkrp.h"

#include <math.h>
#include <string.h>

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
