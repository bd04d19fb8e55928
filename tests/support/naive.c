#include "support/naive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "selftest/known_tensors.h"

uint64_t naive_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

void naive_random_coo(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed,
                      int skewed)
{
    struct error error = {0};
    assert_int_equal(known_scattered(x, shape, nnz, seed, skewed, &error), STATUS_OK);
}

void naive_v(const struct ktensor *k, int mode, double ridge, long double *v)
{
    for (uint64_t i = 0; i < k->rank; i++)
        for (uint64_t j = 0; j < k->rank; j++) {
            long double product = 1;
            for (int n = 0; n < k->shape.order; n++) {
                long double dot = 0;
                for (uint64_t l = 0; l < k->shape.dims[n] && n != mode; l++)
                    dot +=
                        (long double)k->factor[n][l * k->rank + i] * k->factor[n][l * k->rank + j];
                product *= n == mode ? 1 : dot;
            }
            v[i * k->rank + j] = product + (i == j ? (long double)ridge : 0);
        }
}
