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
#include "support/naive_poisson.h"

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
    assert_true(loss_of(LOSS_POISSON)->rates && loss_of(LOSS_POISSON)->kind == POISSON_COUNTS);
    assert_true(loss_of(LOSS_BINARY)->rates && loss_of(LOSS_BINARY)->kind == POISSON_CLIPPED);
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
            struct loss_terms alike; /* a whole block of this one */
            struct loss_sums of_alike = {0};
            double value[TERM_BLOCK];
            for (int i = 0; i < TERM_BLOCK; i++) {
                alike.m[i] = t.m[k];
                value[i] = x[k];
            }
            loss_poisson.sum_values(&alike, value, TERM_BLOCK, 0, &of_alike);
            const double one = of_alike.misfit / TERM_BLOCK;
            if (!(fabsl(one - expected) <= DIGITS * expected))
                fail_msg("x %.17g, m %.17g: %.17g, expected %.17Lg", x[k], t.m[k], one, expected);
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
        of->terms(&t, value, 5, .25, false);
        of->add_numbers(t.misfit, value, 5, number);
        assert_true(number[SYSTEM_KNOWN] == 4);
        for (int k = 0; k < 5; k++) {
            const struct row_term s = row_term(value[k], t.m[k], .25);
            const struct poisson_term p = poisson_term(POISSON_COUNTS, value[k], t.m[k], .25);
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

/* The probability of `first` to `last` counts, where m are expected. */
static long double sum_of(int first, int last, long double m)
{
    long double sum = 0;
    for (int k = last; k >= first; k--)
        sum += expl((long double)k * logl(m) - m - lgammal((long double)k + 1));
    return sum;
}

/* Twice the smaller tail, against sums in long double; p and its logarithm are one number. */
static void test_p_values(void **state)
{
    (void)state;
    static const double means[] = {1e-9, 0.01, 0.5, 1, 3.7, 12, 99.5, 512, 1000};
    static const int counts[] = {0, 1, 2, 3, 7, 20, 99, 100, 101, 400, 512, 1100};
    assert_true(isnan(loss_poisson.log_p(NAN, 3)) && isnan(loss_poisson.log_p(3, NAN)));
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const long double upper = sum_of(counts[k], counts[k] + 4000, means[i]),
                              lower = sum_of(0, counts[k], means[i]);
            const long double expected = fminl(1, 2 * fminl(upper, lower));
            double number[RESIDUAL_NUMBERS];
            loss_residual_numbers(&loss_poisson, counts[k], means[i], number);
            if (expected > 1e-290L && !(fabsl(number[2] / expected - 1) < 1e-11L))
                fail_msg("mean %g, count %d: %.17g, expected %.17Lg", means[i], counts[k],
                         number[2], expected);
            assert_true(number[2] == exp(loss_poisson.log_p(counts[k], means[i])));
            assert_true(number[2] >= 0 && number[2] <= 1);
        }
}

/* Logarithms of p-values from sums or incomplete gamma functions with 40 digits; those of large
 * counts from either way of computing them. */
static void test_tails(void **state)
{
    (void)state;
    static const struct {
        double count, mean, log_p;
    } of[] = {{0, 12.14, -11.446852819440055},
              {0, 1e-9, 0},
              {0, 5000, -4999.3068528194401},
              {1, 1e-9, -20.030118656886466},
              {3, 3, 0},
              {4, 3, -0.34879716607950739},
              {2, 3, -0.16678665594378392},
              {7, .5, -13.119986601291465},
              {40, 12.14, -21.560166295295837},
              {1, 12.14, -8.8711918063835908},
              {2.5, 7.25, -2.4540987325086444},
              {100, 512, -250.99705002828931},
              {700, 512, -33.129736829810447},
              {300, 512, -53.840085330278728},
              {5000, 1, -37591.450161716212},
              {3, 5000, -4975.5464326544434},
              {10001, 10000, -0.0053333595494100911},
              {12000, 10000, -190.99153466204967},
              {8000, 10000, -217.96353988896063},
              {10600, 10000, -19.664884103950547},
              {9400, 10000, -20.38234939532585},
              {10050, 10000, -0.4784995368818728},
              {9999, 9999.5, 0},
              {11999, 12000, -0.0024308386208206889},
              {13000, 14300, -63.539456004607525},
              {13000, 14299, -63.447890499042192},
              {13001, 14302, -63.626646497221229},
              {20000, 18001, -109.97813993501029},
              {100, 1e5, -99211.752681387667},
              {999999, 1e6, -0.00026599689578293463},
              {1e6, 1, -12815518.691509989},
              {1e6, 1200000, -17683.785018289294},
              {2e6, 1960000, -408.98395353766428},
              {1960000, 2e6, -406.25287477755233},
              {10003000000, 1e10, -453.58295354670562}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const double found = loss_poisson.log_p(of[i].count, of[i].mean);
        if (!(fabs(found - of[i].log_p) <= 2e-14 * fmax(10, fabs(of[i].log_p))))
            fail_msg("mean %g, count %.14g: %.17g, expected %.17g", of[i].mean, of[i].count, found,
                     of[i].log_p);
    }
    assert_true(isinf(loss_poisson.log_p(INFINITY, 3)) && isinf(loss_poisson.log_p(3, INFINITY)));
    /* where p is 0, the logarithm still tells which is stranger */
    double number[RESIDUAL_NUMBERS];
    loss_residual_numbers(&loss_poisson, 5000, 1, number);
    assert_true(number[2] == 0);
    assert_true(loss_poisson.log_p(5001, 1) < loss_poisson.log_p(5000, 1));
    assert_true(loss_poisson.log_p(1e300, 1e9) < -1e300 && loss_poisson.log_p(1e9, 1e300) < -1e299);
}

/* The probabilities of a large count or a larger one: sums of probabilities in long double, the
 * first of them with fifty digits. */
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
        const bool large = of[i].tail > .4; /* else twice the tail is the p-value */
        const double found = large ? 1 - loss_poisson.place(of[i].count, of[i].mean, 0, 0)
                                   : exp(loss_poisson.log_p(of[i].count, of[i].mean)) / 2;
        if (!(fabs(found / of[i].tail - 1) < 1e-12))
            fail_msg("mean %g, count %.14g: %.17g, expected %.17g", of[i].mean, of[i].count, found,
                     of[i].tail);
    }
}

/* A Poisson number of mean m, by the inverse of its distribution function; at least `least`. */
static double draw_count(double m, double least, double uniform)
{
    double own = exp(-m), left = uniform, k = 0;
    if (least > 0) /* without those that are 0 */
        left = own + uniform * (1 - own);
    while (left > own && k < 1000) {
        left -= own;
        own *= m / ++k;
    }
    return fmax(k, least);
}

/* Places of a million counts of their model are uniform: the Kolmogorov-Smirnov distance times the
 * root of their number is at most 1.95 with a probability of .999. Of counts from a rate that is 1
 * % higher they are not. */
static void test_places(void **state)
{
    (void)state;
    enum { COUNT = 1000000, BINS = 100000 };
    static uint32_t in_bin[BINS];
    for (int least = 0; least < 2; least++)
        for (int off = 0; off < 2; off++) {
            uint64_t seed = 11;
            double distance = 0, below = 0;
            memset(in_bin, 0, sizeof in_bin);
            for (int i = 0; i < COUNT; i++) {
                const double m = pow(10, (double)(naive_random(&seed) % 4000) / 1000 - 2);
                const double u = ((double)(naive_random(&seed) % 1000000007) + .5) / 1000000007,
                             v = ((double)(naive_random(&seed) % 1000000007) + .5) / 1000000007;
                const double x = draw_count(off ? m * 1.01 : m, least, u);
                const double at = loss_poisson.place(x, m, least, v);
                assert_true(at >= 0 && at <= 1);
                in_bin[at < 1 ? (int)(at * BINS) : BINS - 1]++;
            }
            for (int b = 0; b < BINS; b++) {
                below += in_bin[b];
                distance = fmax(distance, fabs(below / COUNT - (b + 1.0) / BINS));
            }
            if ((distance * sqrt(COUNT) < 1.95) == off)
                fail_msg("least %d, off %d: distance %g", least, off, distance * sqrt(COUNT));
        }
}

static void test_residuals(void **state)
{
    (void)state;
    double number[RESIDUAL_NUMBERS];
    loss_residual_numbers(&loss_poisson, 7, 4, number);
    assert_true(fabs(number[0] - sqrt(2 * (4 - 7 + 7 * log(7 / 4.0)))) < 1e-14);
    assert_true(fabs(number[1] - 1.5) < 1e-15);
    loss_residual_numbers(&loss_poisson, 0, 4, number);
    assert_true(fabs(number[0] + sqrt(8)) < 1e-14);
    assert_true(fabs(number[1] + 2) < 1e-15 && fabs(number[2] - 2 * exp(-4)) < 1e-16);
    assert_true(loss_residual(&loss_poisson, 4, 4) == 0);
    assert_true(loss_residual(&loss_squares, 7, 4) == 3);
    assert_true(isnan(loss_residual(&loss_poisson, NAN, 4)));
}

/* A rate of 0 or less counts as the least rate, 1e-100. */
static void test_impossible_rates(void **state)
{
    (void)state;
    static const double rates[] = {0, -5, 1e-200, -INFINITY};
    const double deviance = 2 * (1e-100 - 3 + 3 * (log(3) + 100 * log(10)));
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double none[RESIDUAL_NUMBERS], three[RESIDUAL_NUMBERS];
        loss_residual_numbers(&loss_poisson, 0, rates[i], none);
        assert_true(fabs(none[0]) < 1e-49 && fabs(none[1]) < 1e-49 && none[2] == 1);
        loss_residual_numbers(&loss_poisson, 3, rates[i], three);
        assert_true(fabs(three[0] - sqrt(deviance)) < 1e-12);
        assert_true(fabs(three[1] / 3e50 - 1) < 1e-12 && three[2] >= 0 && three[2] < 1e-299);
    }
    double unknown[RESIDUAL_NUMBERS];
    loss_residual_numbers(&loss_poisson, 3, NAN, unknown);
    assert_true(isnan(unknown[0]) && isnan(unknown[1]) && isnan(unknown[2]));
}

/* Rates over many orders of magnitude: the terms of a one, beside long double. */
static void test_binary_terms(void **state)
{
    (void)state;
    static const double value[] = {1, 0, NAN};
    for (int e = -3300; e <= 320; e++) {
        struct loss_terms t = {.m = {pow(10, e / 100.), pow(10, e / 100.), pow(10, e / 100.)}};
        struct loss_sums sums = {0};
        const long double m = t.m[0], chance = -expm1l(-m), rest = expl(-m);
        const long double of_one = m < .5L ? -logl(chance) : -log1pl(-rest);
        loss_binary.terms(&t, value, 3, .25, false);
        assert_true(fabsl(t.c[0] * chance - 1) < 4 * DBL_EPSILON);
        assert_true(fabsl(t.w[0] * chance * m - 1) < 5 * DBL_EPSILON);
        assert_true(t.c[1] == 0 && t.w[1] == 0 && t.c[2] == 0 && t.w[2] == 0);
        assert_true(t.q[0] == .75 && t.q[1] == .75 && t.q[2] == -.25);
        struct loss_terms alone = {.m = {t.m[0], t.m[1], t.m[2]}};
        loss_binary.terms(&alone, value, 3, .25, true);
        assert_true(fabsl(alone.c[0] * chance - 1) < 4 * DBL_EPSILON);
        assert_true(alone.c[1] == 0 && alone.c[2] == 0);
        assert_true(fabsl(loss_expected(&loss_binary, (double)m) / chance - 1) < 4 * DBL_EPSILON);
        const long double found = loss_binary.misfit(1, (double)m);
        if (!(fabsl(found - of_one) < 8 * DBL_EPSILON * of_one + 1e-300L))
            fail_msg("m %Lg: %.17Lg, expected %.17Lg", m, found, of_one);
        assert_true(loss_binary.misfit(0, (double)m) == (double)m);
        loss_binary.sum_values(&t, value, 3, .25, &sums);
        assert_true(fabsl(sums.misfit - (of_one + m / 4)) < 8 * DBL_EPSILON * (of_one + m));
        assert_true(fabsl(sums.model - 1.25L * m) < 4 * DBL_EPSILON * m);
    }
    for (int e = 0; e < 40; e++) { /* near 0 by the probability, near 1 by the rate */
        const double p = ldexp(1, -e - 1);
        assert_true(fabs(loss_binary.expected(loss_binary.rate(p)) / p - 1) < 1e-14);
    }
    assert_true(loss_binary.values.takes(0) && loss_binary.values.takes(1));
    assert_false(loss_binary.values.takes(2) || loss_binary.values.takes(.5));
}

/* Blocks of ones and zeros of any number, of rates alike and over all orders of magnitude. */
static void test_binary_sums(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int turn = 0; turn < 2000; turn++) {
        const uint64_t count = 1 + (uint64_t)turn % TERM_BLOCK;
        const double top = turn % 3 == 1 ? 2 : -8;
        struct loss_terms t;
        struct loss_sums sums = {0};
        double x[TERM_BLOCK];
        long double sum = 0, size = 0;
        for (uint64_t k = 0; k < count; k++) {
            x[k] = naive_random(&seed) % 5 > 0 ? 1 : 0;
            t.m[k] =
                turn % 3 == 0 ? 1e-100 : pow(10, top - (double)(naive_random(&seed) % 800) / 100);
            const long double m = t.m[k];
            const long double of_one = m < .5L ? -logl(-expm1l(-m)) : -log1pl(-expl(-m));
            sum += (x[k] > 0 ? of_one : m) - .5L * m;
            size += of_one + m;
        }
        loss_binary.sum_values(&t, x, count, .5, &sums);
        assert_true(fabsl(sums.misfit - sum) < 8 * DBL_EPSILON * size);
    }
}

/* A rate of 0, far too small or far too large: all is finite, and a probability one. */
static void test_binary_limits(void **state)
{
    (void)state;
    static const double rates[] = {0, -1, 1e-300, 800, 1e300}, one = 1;
    double number[RESIDUAL_NUMBERS];
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct loss_terms t = {.m = {rates[i]}};
        loss_binary.terms(&t, &one, 1, 1, false);
        assert_true(isfinite(t.c[0]) && isfinite(t.w[0]) && t.c[0] > 1 - 2 * DBL_EPSILON);
        const double p = loss_expected(&loss_binary, rates[i]);
        assert_true(p >= 0 && p <= 1 && (rates[i] < 1 || p == 1));
        for (int x = 0; x < 2; x++) {
            loss_residual_numbers(&loss_binary, x, rates[i], number);
            assert_true(!isnan(number[1]) && number[2] >= 0 && number[2] <= 1);
        }
    }
    assert_true(isnan(loss_expected(&loss_binary, NAN)));
    loss_residual_numbers(&loss_binary, NAN, 1, number);
    assert_true(isnan(number[0]) && isnan(number[1]) && isnan(number[2]));
}

/* Deviances, Pearson's residuals, and the p of the rarer value, which is its probability. */
static void test_binary_residuals(void **state)
{
    (void)state;
    for (int k = 1; k < 20; k++) {
        const double p = k / 20., m = -log1p(-p);
        double one[RESIDUAL_NUMBERS], zero[RESIDUAL_NUMBERS];
        loss_residual_numbers(&loss_binary, 1, m, one);
        loss_residual_numbers(&loss_binary, 0, m, zero);
        assert_true(fabs(one[0] - sqrt(-2 * log(p))) < 1e-14);
        assert_true(fabs(zero[0] + sqrt(-2 * log1p(-p))) < 1e-14);
        assert_true(fabs(one[1] - (1 - p) / sqrt(p * (1 - p))) < 1e-13);
        assert_true(fabs(zero[1] + p / sqrt(p * (1 - p))) < 1e-13);
        assert_true(fabs(one[2] - (k < 10 ? p : 1)) < 1e-14 || k == 10);
        assert_true(fabs(zero[2] - (k > 10 ? 1 - p : 1)) < 1e-14 || k == 10);
    }
}

/* The probability of a zero-truncated count x of rate m. */
static long double truncated_chance(int x, long double m)
{
    return expl((long double)x * logl(m) - m - lgammal((long double)x + 1)) / -expm1l(-m);
}

/* Rates over many orders of magnitude: the terms of zero-truncated counts, beside long double. */
static void test_truncated_terms(void **state)
{
    (void)state;
    const struct loss *loss = &loss_zero_truncated;
    static const double values[] = {1, 1.5, 2, 3, 7, 40, 1000};
    for (int e = -250; e <= 300; e++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            const double x = values[v], value[] = {x, NAN};
            const double rate = pow(10, e / 50.);
            struct loss_terms t = {.m = {rate, rate}};
            struct loss_sums sums = {0};
            const long double m = rate, chance = -expm1l(-m);
            const long double misfit = naive_poisson_misfit(x, m, POISSON_TRUNCATED);
            loss->terms(&t, value, 2, .25, false);
            assert_true(fabsl(t.c[0] * m / x - 1) < 4 * DBL_EPSILON);
            assert_true(fabsl(t.w[0] * m * m / x - 1) < 6 * DBL_EPSILON);
            assert_true(fabsl((t.q[0] + .25L) * chance - 1) < 4 * DBL_EPSILON);
            assert_true(t.c[1] == 0 && t.w[1] == 0 && t.q[1] == -.25);
            if (!(fabsl(loss->misfit(x, rate) - misfit) < 1e-14L * (x + misfit)))
                fail_msg("x %g, m %g: %.17g, expected %.17Lg", x, rate, loss->misfit(x, rate),
                         misfit);
            loss->sum_values(&t, value, 2, .25, &sums);
            assert_true(fabsl(sums.misfit - (misfit - m / 2)) < 1e-14L * (x + misfit + m));
            assert_true(fabsl(loss->expected(rate) * chance / m - 1) < 4 * DBL_EPSILON);
        }
    for (int e = -30; e < 60; e++) {
        const double mean = 1 + ldexp(1, e / 2);
        assert_true(fabs(loss->expected(loss->rate(mean)) / mean - 1) < 4 * DBL_EPSILON);
    }
    assert_true(loss->rate(1) == 0 && loss->expected(0) == 1 && isnan(loss->expected(NAN)));
    assert_true(loss->values.takes(1) && !loss->values.takes(.9) && !loss_takes_zeros(loss));
    assert_true(loss_takes_zeros(&loss_squares) && loss_takes_zeros(&loss_binary));
}

/* The saturated likelihood is that at the best rate, and the null model's deviance follows from it.
 */
static void test_truncated_null(void **state)
{
    (void)state;
    const struct loss *loss = &loss_zero_truncated;
    static const int values[] = {1, 1, 2, 5, 30, 1};
    const int count = sizeof values / sizeof *values;
    double total = 0, saturated = 0;
    long double expected = 0;
    for (int i = 0; i < count; i++)
        total += values[i];
    const double mean = loss->rate(total / count);
    for (int i = 0; i < count; i++) {
        const int x = values[i];
        const long double best = x > 1 ? naive_truncated_rate(x) : 1e-30L;
        const double perfect = (double)logl(truncated_chance(x, best));
        assert_true(fabs(loss->perfect(x) - perfect) < 1e-13);
        assert_true(fabs(loss->saturated(x) - lgamma(x + 1) - perfect) < 1e-12);
        saturated += loss->saturated(x);
        expected += naive_poisson_misfit(x, mean, POISSON_TRUNCATED);
    }
    assert_true(fabsl(loss->null_deviance(total, saturated, count) - expected) < 1e-12L);
}

/* Residuals and p-values, beside sums over the distribution. */
static void test_truncated_residuals(void **state)
{
    (void)state;
    const struct loss *loss = &loss_zero_truncated;
    static const double rates[] = {1e-3, .009, .011, .3, 1, 4, 25};
    double number[RESIDUAL_NUMBERS];
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
        long double mean = 0, square = 0, lower = 0;
        for (int x = 1; x < 200; x++) {
            mean += x * truncated_chance(x, rates[k]);
            square += (long double)x * x * truncated_chance(x, rates[k]);
        }
        for (int x = 1; x < 30; x++) {
            const long double own = truncated_chance(x, rates[k]);
            long double upper = 0;
            for (int above = x; above < 200; above++)
                upper += truncated_chance(above, rates[k]);
            lower += own;
            const double p = (double)fminl(1, 2 * fminl(upper, lower));
            const double misfit = (double)naive_poisson_misfit(x, rates[k], POISSON_TRUNCATED);
            loss_residual_numbers(loss, x, rates[k], number);
            assert_true(fabs(number[0] * number[0] / 2 - misfit) < 1e-13);
            assert_true((number[0] > 0) == (x > mean));
            assert_true(fabsl(number[1] * sqrtl(square - mean * mean) - (x - mean)) < 1e-9L * x);
            if (!(fabs(number[2] - p) < 1e-10 * p))
                fail_msg("x %d, m %g: p %.15g, expected %.15g", x, rates[k], number[2], p);
            for (int v = 0; v < 2; v++)
                assert_true(fabsl(loss->place(x, rates[k], 0, v) - (lower - (1 - v) * own)) <
                            1e-12L);
        }
    }
    loss_residual_numbers(loss, NAN, 1, number);
    assert_true(isnan(number[0]) && isnan(number[1]) && isnan(number[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_misfits),
                                       cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_least),
                                       cmocka_unit_test(test_p_values),
                                       cmocka_unit_test(test_tails),
                                       cmocka_unit_test(test_large_counts),
                                       cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_residuals),
                                       cmocka_unit_test(test_impossible_rates),
                                       cmocka_unit_test(test_binary_terms),
                                       cmocka_unit_test(test_binary_sums),
                                       cmocka_unit_test(test_binary_limits),
                                       cmocka_unit_test(test_binary_residuals),
                                       cmocka_unit_test(test_truncated_terms),
                                       cmocka_unit_test(test_truncated_null),
                                       cmocka_unit_test(test_truncated_residuals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
