/* The rows of the losses: terms of some nonzeros are the same as one by one, to all digits;
 * residuals of counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "numerics/poisson_term.h"
#include "problem/loss.h"
#include "support/naive.h"

/* Every word has a row, and no other number has one. */
static void test_rows(void **state)
{
    (void)state;
    unsigned count = 0;
    for (const struct word *w = loss_words; w->text; w++, count++) {
        assert_int_equal(w->value, count);
        assert_true(loss_is_known(count));
        assert_non_null(loss_of((enum loss_name)w->value));
    }
    assert_false(loss_is_known(count));
    assert_false(loss_of(LOSS_SQUARES)->rates);
    assert_true(loss_of(LOSS_POISSON)->rates);
}

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
        const uint64_t count = 1 + (uint64_t)turn % TERM_BLOCK;
        struct loss_terms t = {0};
        struct loss_sums sums = {0};
        double x[TERM_BLOCK];
        fill(x, t.m, count, &seed);
        loss_poisson.sum_values(&t, x, count, 0, &sums);
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
        struct loss_terms t = {.m = {1, 2, 3, 4, 5}};
        const struct loss *of = loss == 0 ? &loss_squares : &loss_poisson;
        of->terms(&t, value, 5, .25);
        of->add_numbers(t.misfit, value, 5, number);
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
    struct loss_terms t = {.m = {1, 2}};
    struct loss_sums sums = {0};
    double number[SYSTEM_NUMBERS] = {0};
    loss_poisson.add_numbers(NULL, none, 2, number);
    assert_true(number[SYSTEM_LEAST] == 0 && number[SYSTEM_KNOWN] == 1);
    loss_squares.sum_values(&t, none, 2, 0, &sums);
    assert_true(sums.model_sq == 1);
}

/* The least of any number of values, with the vectors of the processor. */
static void test_least(void **state)
{
    (void)state;
    double value[TERM_BLOCK];
    for (uint64_t count = 1; count <= TERM_BLOCK; count++)
        for (uint64_t at = 0; at < count; at++) {
            double number[SYSTEM_NUMBERS] = {0};
            for (uint64_t k = 0; k < count; k++)
                value[k] = k % 3 == 0 ? 0 : k % 3 == 1 ? NAN : 9;
            value[at] = 2;
            loss_poisson.add_numbers(NULL, value, count, number);
            assert_true(number[SYSTEM_LEAST] == 2);
        }
}

/* The probability of x or more. */
static double upper_tail(double x, double m)
{
    double number[RESIDUAL_NUMBERS];
    loss_poisson.residual_numbers(x, m, number);
    return number[2];
}

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
    assert_true(upper_tail(0, 3) == 1);
    assert_true(isnan(upper_tail(NAN, 3)));
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const long double expected = tail(counts[k], means[i]);
            const double found = upper_tail(counts[k], means[i]);
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
        const double found = upper_tail(of[i].count, of[i].mean);
        if (!(fabs(found / of[i].tail - 1) < 2e-9))
            fail_msg("mean %g, count %.14g: %.17g, expected %.17g", of[i].mean, of[i].count, found,
                     of[i].tail);
    }
    assert_true(upper_tail(1e9, 1e300) == 1 && upper_tail(1e300, 1e9) == 0);
}

static void test_residuals(void **state)
{
    (void)state;
    double number[RESIDUAL_NUMBERS];
    loss_poisson.residual_numbers(7, 4, number);
    assert_true(fabs(number[0] - sqrt(2 * (4 - 7 + 7 * log(7 / 4.0)))) < 1e-14);
    assert_true(fabs(number[1] - 1.5) < 1e-15);
    loss_poisson.residual_numbers(0, 4, number);
    assert_true(fabs(number[0] + sqrt(8)) < 1e-14);
    assert_true(fabs(number[1] + 2) < 1e-15 && number[2] == 1);
    assert_true(loss_poisson.residual(4, 4) == 0);
    assert_true(loss_squares.residual(7, 4) == 3);
    assert_true(isnan(loss_poisson.residual(NAN, 4)));
}

/* A rate of 0 or less counts as the least rate, 1e-100. */
static void test_impossible_rates(void **state)
{
    (void)state;
    static const double rates[] = {0, -5, 1e-200, -INFINITY};
    const double deviance = 2 * (1e-100 - 3 + 3 * (log(3) + 100 * log(10)));
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double none[RESIDUAL_NUMBERS], three[RESIDUAL_NUMBERS];
        loss_poisson.residual_numbers(0, rates[i], none);
        assert_true(fabs(none[0]) < 1e-49 && fabs(none[1]) < 1e-49 && none[2] == 1);
        loss_poisson.residual_numbers(3, rates[i], three);
        assert_true(fabs(three[0] - sqrt(deviance)) < 1e-12);
        assert_true(fabs(three[1] / 3e50 - 1) < 1e-12 && three[2] >= 0 && three[2] < 1e-299);
    }
    double unknown[RESIDUAL_NUMBERS];
    loss_poisson.residual_numbers(3, NAN, unknown);
    assert_true(isnan(unknown[0]) && isnan(unknown[1]) && isnan(unknown[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_misfits),
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_least),
        cmocka_unit_test(test_upper_tail), cmocka_unit_test(test_large_counts),
        cmocka_unit_test(test_residuals),  cmocka_unit_test(test_impossible_rates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
