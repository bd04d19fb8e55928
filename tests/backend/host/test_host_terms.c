/* Terms of some nonzeros: the same as one by one, to all digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backend/host/host_terms.h"
#include "numerics/poisson_term.h"
#include "support/naive.h"

/* m - x - x log(m / x); where m is near x by the series of log(1 + u). */
static long double misfit(double x, double m)
{
    const long double u = ((long double)m - x) / x;
    long double sum = 0;
    for (int k = 12; k >= 2; k--)
        sum = (k % 2 == 0 ? 1.0L : -1.0L) / k + sum * u;
    return x > 0 ? (long double)x * (fabsl(u) < 1e-2L ? u * u * sum : u - logl((long double)m / x))
                 : m;
}

/* Where |m - x| is an eighth of x, u - log(1 + u) is a sixteenth of u, and so has lost four bits.
 */
#define DIGITS (48 * DBL_EPSILON)

/* Values and rates over many orders of magnitude, and near each other. */
static void fill(double *x, double *m, uint64_t count, uint64_t *seed)
{
    for (uint64_t k = 0; k < count; k++) {
        const double scale = pow(10, (double)(naive_random(seed) % 60) - 30);
        const double near = 1 + ((double)(naive_random(seed) % 2001) - 1000) / 1000 *
                                    pow(10, -(double)(naive_random(seed) % 12));
        const bool far = naive_random(seed) % 2;
        x[k] = naive_random(seed) % 9 == 0 ? 0 : (double)(1 + naive_random(seed) % 50) * scale;
        m[k] = far || x[k] == 0 ? pow(10, (double)(naive_random(seed) % 80) - 40)
                                : x[k] * (near > 0 ? near : 1);
    }
}

static void test_misfits(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int turn = 0; turn < 3000; turn++) {
        const uint64_t count = 1 + (uint64_t)turn % HOST_SYSTEM_BLOCK;
        struct host_terms t = {0};
        struct host_value_sums sums = {0};
        double x[HOST_SYSTEM_BLOCK];
        fill(x, t.m, count, &seed);
        host_terms_misfits(&t, x, count, 0, &sums);
        long double sum = 0;
        for (uint64_t k = 0; k < count; k++) {
            const long double expected = misfit(x[k], t.m[k]);
            if (!(fabsl(t.misfit[k] - expected) <= DIGITS * expected))
                fail_msg("x %.17g, m %.17g: %.17g, expected %.17Lg", x[k], t.m[k], t.misfit[k],
                         expected);
            sum += expected;
        }
        assert_true(fabsl(sums.misfit - sum) <= 64 * DBL_EPSILON * sum);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    const double value[] = {3, 0, NAN, .5, 7}, none[] = {0, NAN};
    for (int loss = 0; loss < 2; loss++) {
        double number[SYSTEM_NUMBERS] = {0};
        struct host_terms t = {.m = {1, 2, 3, 4, 5}};
        if (loss == 0) {
            host_terms_squares(&t, value, 5, .25);
            host_terms_sum_squares(t.misfit, value, 5, number);
        } else {
            host_terms_counts(&t, value, 5, .25);
            host_terms_sum_counts(value, 5, number);
        }
        assert_true(number[SYSTEM_KNOWN] == 4);
        for (int k = 0; k < 5; k++) {
            const struct row_term s = row_term(value[k], t.m[k], .25);
            const struct poisson_term p = poisson_term(value[k], t.m[k], .25);
            assert_true(t.c[k] == (loss == 0 ? s.c : p.c) && t.w[k] == (loss == 0 ? s.w : p.w));
            assert_true(loss == 0 || t.q[k] == p.q);
        }
        assert_true(number[SYSTEM_LEAST] == (loss == 0 ? 0 : .5));
        assert_true(loss == 1 || fabs(number[SYSTEM_MISFIT] - 10.5) < 1e-12);
    }
    const struct host_terms t = {.m = {1, 2}};
    double number[SYSTEM_NUMBERS] = {0};
    host_terms_sum_counts(none, 2, number);
    assert_true(number[SYSTEM_LEAST] == 0 && number[SYSTEM_KNOWN] == 1);
    assert_true(host_terms_model_sq(&t, none, 2) == 1);
}

/* The least of any number of values, with the vectors of the processor. */
static void test_least(void **state)
{
    (void)state;
    double value[HOST_SYSTEM_BLOCK];
    for (uint64_t count = 1; count <= HOST_SYSTEM_BLOCK; count++)
        for (uint64_t at = 0; at < count; at++) {
            double number[SYSTEM_NUMBERS] = {0};
            for (uint64_t k = 0; k < count; k++)
                value[k] = k % 3 == 0 ? 0 : k % 3 == 1 ? NAN : 9;
            value[at] = 2;
            host_terms_sum_counts(value, count, number);
            assert_true(number[SYSTEM_LEAST] == 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_misfits),
                                       cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_least)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
