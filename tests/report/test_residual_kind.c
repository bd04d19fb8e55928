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

/* Sums of the probabilities in long double, the first of them with fifty digits. */
static void test_large_counts(void **state)
{
    (void)state;
    static const struct {
        double count, mean, tail;
    } of[] = {{999999, 1e6, 0.50053192300802883},
              {2e6, 2e6, 0.50009403159751916},
              {2e6, 1990000, 7.0710947617527256e-13},
              {2e6, 1960000, 1.200869448329446e-178},
              {1e10, 1e10, 0.50000132980760122},
              {10000600000, 1e10, 9.8697251445016701e-10},
              {10003000000, 1e10, 5.1332946528063082e-198},
              {9999700000, 1e10, 0.99865018321770502},
              {1e13, 1e13, 0.50000004205220467},
              {10000030000000, 1e13, 1.1908554560077396e-21}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const double found = poisson_upper_tail(of[i].count, of[i].mean);
        if (!(fabs(found / of[i].tail - 1) < 2e-9))
            fail_msg("mean %g, count %.14g: %.17g, expected %.17g", of[i].mean, of[i].count, found,
                     of[i].tail);
    }
    assert_true(poisson_upper_tail(1e9, 1e300) == 1 && poisson_upper_tail(1e300, 1e9) == 0);
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

/* A rate of 0 or less counts as the least rate, 1e-100. */
static void test_impossible_rates(void **state)
{
    (void)state;
    static const double rates[] = {0, -5, 1e-200, -INFINITY};
    const double deviance = 2 * (1e-100 - 3 + 3 * (log(3) + 100 * log(10)));
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double none[RESIDUAL_NUMBERS], three[RESIDUAL_NUMBERS];
        residual_fill(RESIDUAL_POISSON, 0, rates[i], none);
        assert_true(fabs(none[0]) < 1e-49 && fabs(none[1]) < 1e-49 && none[2] == 1);
        residual_fill(RESIDUAL_POISSON, 3, rates[i], three);
        assert_true(fabs(three[0] - sqrt(deviance)) < 1e-12);
        assert_true(fabs(three[1] / 3e50 - 1) < 1e-12 && three[2] >= 0 && three[2] < 1e-299);
    }
    double unknown[RESIDUAL_NUMBERS];
    residual_fill(RESIDUAL_POISSON, 3, NAN, unknown);
    assert_true(isnan(unknown[0]) && isnan(unknown[1]) && isnan(unknown[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upper_tail), cmocka_unit_test(test_large_counts),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_impossible_rates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
