/* Residuals of counts (report/residual_kind.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "report/residual_kind.h"

/* The sum of the probabilities of x, x + 1, ..., the smallest first. */
static long double tail(int x, long double m)
{
    long double sum = 0;
    for (int k = x + 4000; k >= x; k--)
        sum += expl((long double)k * logl(m) - m - lgammal((long double)k + 1));
    return sum;
}

static void test_upper_tail(void **state)
{
    (void)state;
    static const double means[] = {1e-9, 0.01, 0.5, 1, 3.7, 12, 99.5, 512, 1000};
    static const int counts[] = {1, 2, 3, 7, 20, 99, 100, 101, 400, 512, 1100};
    assert_true(poisson_upper_tail(0, 3) == 1);
    assert_true(isnan(poisson_upper_tail(NAN, 3)));
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const long double expected = tail(counts[k], means[i]);
            const double found = poisson_upper_tail(counts[k], means[i]);
            if (expected > 1e-290L && !(fabsl(found / expected - 1) < 1e-11L))
                fail_msg("mean %g, count %d: %.17g, expected %.17Lg", means[i], counts[k], found,
                         expected);
            assert_true(found >= 0 && found <= 1);
        }
}

static void test_numbers(void **state)
{
    (void)state;
    double number[RESIDUAL_NUMBERS];
    residual_fill(RESIDUAL_POISSON, 7, 4, number);
    assert_true(fabs(number[0] - sqrt(2 * (4 - 7 + 7 * log(7 / 4.0)))) < 1e-14);
    assert_true(fabs(number[1] - 1.5) < 1e-15);
    residual_fill(RESIDUAL_POISSON, 0, 4, number);
    assert_true(fabs(number[0] + sqrt(8)) < 1e-14);
    assert_true(fabs(number[1] + 2) < 1e-15 && number[2] == 1);
    assert_true(residual_of(RESIDUAL_POISSON, 4, 4) == 0);
    assert_true(residual_of(RESIDUAL_DIFFERENCE, 7, 4) == 3);
    assert_true(isnan(residual_of(RESIDUAL_POISSON, NAN, 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_upper_tail),
                                       cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
