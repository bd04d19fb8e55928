/* Eigenvalues and eigenvectors of symmetric matrices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "lapack/symmetric_eigen.h"
#include "support/naive.h"

#define MOST 40

/* V = Q diag(w) Q' with Q orthonormal and w ascending. */
static void test_decomposition(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (uint64_t n = 1; n <= MOST; n += 13) {
        double v[MOST * MOST], q[MOST * MOST], w[MOST];
        struct error error = {0};
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t j = 0; j <= i; j++)
                v[i * n + j] = v[j * n + i] = (double)(naive_random(&seed) >> 11) * 0x1p-52 - 1;
        memcpy(q, v, n * n * sizeof *v);
        assert_int_equal(symmetric_eigen(q, n, w, &error), STATUS_OK);
        for (uint64_t e = 1; e < n; e++)
            assert_true(w[e - 1] <= w[e]);
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t j = 0; j < n; j++) {
                double value = 0, product = 0;
                for (uint64_t e = 0; e < n; e++) {
                    value += q[e * n + i] * w[e] * q[e * n + j];
                    product += q[i * n + e] * q[j * n + e];
                }
                assert_true(fabs(value - v[i * n + j]) < 1e-12);
                assert_true(fabs(product - (i == j)) < 1e-12);
            }
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    double v[4] = {2, 1, 1, 2}, w[2];
    for (long k = 0; k < 2; k++) {
        struct error error = {0};
        memory_hook_set(k);
        assert_int_equal(symmetric_eigen(v, 2, w, &error), STATUS_MEMORY);
        memory_hook_set(-1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decomposition),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
