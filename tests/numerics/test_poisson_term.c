/* The terms of counts (numerics/poisson_term.h) beside long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "numerics/poisson_term.h"

/* m - x - x log(m / x), where m = x (1 + u). */
static long double misfit(long double x, long double u)
{
    if (fabsl(u) > 1e-3L)
        return x * (u - logl(1 + u));
    long double sum = 0, power = u * u;
    for (int k = 2; k < 12; k++, power *= -u)
        sum += power / k;
    return x * sum;
}

/* All digits, even where m and x have most of theirs in common. */
static void test_misfit(void **state)
{
    (void)state;
    static const double counts[] = {1, 4, 1024, 0x1p-10, 0x1p40};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int e = -40; e <= 6; e++)
            for (int sign = -1; sign <= 1; sign += 2) {
                const double x = counts[i], u = sign * ldexp(1.375, e); /* 1 + u is exact */
                if (u <= -1)
                    continue;
                const long double expected = misfit(x, u);
                const double found = poisson_count_misfit(x, x * (1 + u));
                if (!(fabsl(found / expected - 1) < 1e-14L))
                    fail_msg("x %g, u %g: %.17g, expected %.17Lg", x, u, found, expected);
            }
    assert_true(poisson_count_misfit(5, 5) == 0);
    assert_true(poisson_count_misfit(0, 5) == 5);
    assert_true(poisson_count_misfit(0, 0) == 0);
    assert_true(isfinite(poisson_count_misfit(3, 0)) && poisson_count_misfit(3, 0) > 600);
}

/* Computed with 50 digits, of 1e300 with 800. */
static void test_perfect(void **state)
{
    (void)state;
    static const struct {
        double x, perfect;
    } of[] = {{1e-3, -0.0073313616806987676422},
              {.5, -0.72579135264472743236},
              {1, -1},
              {15.999, -2.3104096246818126187},
              {16, -2.3104405502441730011},
              {17.5, -2.3548003606111213767},
              {1e3, -4.3728995060262968242},
              {1e6, -7.8266938955201431272},
              {1e10, -12.431863998183234495},
              {1e15, -18.188326730660015455},
              {1e18, -21.642204370151083898},
              {1e300, -346.30670248231152537}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const double found = poisson_perfect(of[i].x);
        if (!(fabs(found - of[i].perfect) < 2e-14 * fmax(1, fabs(of[i].perfect))))
            fail_msg("x %g: %.17g, expected %.17g", of[i].x, found, of[i].perfect);
    }
    assert_true(poisson_perfect(0) == 0 && fabs(poisson_perfect(1e-300)) < 1e-14);
}

static void test_terms(void **state)
{
    (void)state;
    const struct poisson_term all = poisson_term(POISSON_COUNTS, 6, 4, 1),
                              listed = poisson_term(POISSON_COUNTS, 6, 4, 0);
    assert_true(all.c == 1.5 && all.w == 0.375 && all.q == 0);
    assert_true(listed.c == 1.5 && listed.w == 0.375 && listed.q == 1);
    const struct poisson_term unknown = poisson_term(POISSON_COUNTS, NAN, 4, 1);
    assert_true(unknown.c == 0 && unknown.w == 0 && unknown.q == -1);
    const struct poisson_term impossible = poisson_term(POISSON_COUNTS, 3, 0, 1);
    assert_true(isfinite(impossible.c) && isfinite(impossible.w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_misfit),
                                       cmocka_unit_test(test_perfect),
                                       cmocka_unit_test(test_terms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
