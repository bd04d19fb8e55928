/* Poisson: the values are counts, and the sum of m - x - x log(m / x) over all entries is minimised
 * (numerics/poisson_term.h). */
#include "problem/loss.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/vector_clones.h"
#include "numerics/poisson_term.h"

#define WIDEST     8      /* doubles of a vector                                              */
#define MOST_TERMS 100000 /* of a series, whose terms then have become small                  */
#define LARGE      1e6    /* above, the series would be long, and its first term inaccurate */

static bool take_counts(double x)
{
    return x >= 0;
}

VECTOR_CLONES static void make_terms(struct loss_terms *t, const double *value, uint64_t count,
                                     double unlisted)
{
    for (uint64_t k = 0; k < count; k++) {
        const struct poisson_term term = poisson_term(value[k], t->m[k], unlisted);
        t->c[k] = term.c;
        t->w[k] = term.w;
        t->q[k] = term.q;
    }
}

VECTOR_CLONES static void add_numbers(const double *misfit, const double *value, uint64_t count,
                                      double *number)
{
    const uint64_t whole = count / WIDEST * WIDEST;
    (void)misfit;
    double known = 0, least = INFINITY; /* where no value is above 0 */
    if (whole > 0) {
#pragma omp simd reduction(+ : known) reduction(min : least)
        for (uint64_t k = 0; k < whole; k++) {
            const double x = value[k] > 0 ? value[k] : INFINITY;
            known += value[k] == value[k] ? 1 : 0;
            least = x < least ? x : least;
        }
    }
    for (uint64_t k = whole; k < count; k++) {
        known += value[k] == value[k];
        least = value[k] > 0 && value[k] < least ? value[k] : least;
    }
    number[SYSTEM_KNOWN] += known;
    number[SYSTEM_LEAST] = loss_least(number[SYSTEM_LEAST], isinf(least) ? 0 : least);
}

/* poisson_excess of a positive, finite, normal t, with u = t - 1, without a branch. With t = 2^k f,
 * f from sqrt(1/2) to sqrt(2), and y = (f - 1) / (f + 1), log(t) is k log 2 + 2 (y + y^3 / 3 +
 * ...). Where k is 0, u - 2 y is y u, to all digits. */
static inline double excess(double t, double u)
{
    static const double log2_high = 6.93147180369123816490e-01,
                        log2_low = 1.90821492927058770002e-10;
    const uint64_t half_root = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(1023) << 52;
    const uint64_t shift = UINT64_C(0x4330000000000000); /* 2^52: its last bits are whole numbers */
    uint64_t bits, power;
    double f, k;
    memcpy(&bits, &t, sizeof bits);
    power = (bits - half_root + one) >> 52; /* k + 1023 */
    bits -= (power << 52) - one;
    power |= shift;
    memcpy(&f, &bits, sizeof f);
    memcpy(&k, &power, sizeof k);
    k -= 0x1p52 + 1023;
    const double over = k == 0 ? u : f - 1; /* one, without f's rounding where it can be told */
    const double y = over / (2 + over), z = y * y, z2 = z * z, z4 = z2 * z2;
    const double low = (2.0 / 3 + 2.0 / 5 * z) + z2 * (2.0 / 7 + 2.0 / 9 * z);
    const double high = (2.0 / 11 + 2.0 / 13 * z) + z2 * (2.0 / 15 + 2.0 / 17 * z);
    const double rest = y * z * (low + z4 * (high + z4 * (2.0 / 19 + 2.0 / 21 * z)));
    return k == 0 ? y * u - rest : u - k * log2_high - (2 * y + (rest + k * log2_low));
}

VECTOR_CLONES static void sum_values(struct loss_terms *t, const double *value, uint64_t count,
                                     double unlisted, struct loss_sums *sums)
{
    double model = 0, misfit = 0;
#pragma omp simd reduction(+ : model, misfit)
    for (uint64_t k = 0; k < count; k++) {
        const double x = value[k] > 0 ? value[k] : 1, m = t->m[k], inverse = 1 / x;
        const double rate = poisson_rate(m);
        const double counted = x * excess(rate * inverse, (rate - x) * inverse);
        const double term = value[k] > 0 ? counted : value[k] == value[k] ? m : 0;
        t->misfit[k] = term - unlisted * m;
        model += ((value[k] == value[k] ? 1 : 0) - unlisted) * m;
        misfit += t->misfit[k];
    }
    sums->model += model;
    sums->misfit += misfit;
}

static double null_deviance(double total, double log_sum, double entries)
{
    return log_sum - total * log(total / entries);
}

/* That of the deviance: the root of what the entry adds to it, with the sign of the difference. A
 * rate that is not positive, or too small, counts as in poisson_term.h. */
static double residual(double value, double model)
{
    if (isnan(value - model))
        return value - model;
    const double rate = poisson_rate(model);
    return copysign(sqrt(2 * poisson_misfit(value, rate)), value - rate);
}

/* exp(-m) m^x / gamma(x + 1), from the misfit, so that nothing cancels where x is near m. */
static double density(double x, double m)
{
    return exp(poisson_perfect(x) - poisson_misfit(x, m));
}

/* The normal distribution, with a correction for its skewness (N. M. Temme, *The asymptotic
 * expansion of the incomplete gamma functions*, SIAM Journal on Mathematical Analysis 10, 1979): to
 * about nine digits for large x, in the tails as well. */
static double large_upper_tail(double x, double m)
{
    const double misfit = poisson_misfit(x, m);
    const double eta = copysign(fmin(1, sqrt(2 * misfit / x)), m - x);
    const double skewed = 1.0 / 3 - eta * (1.0 / 12 - eta * (2.0 / 135 - eta / 864));
    return erfc(copysign(sqrt(misfit), x - m)) / 2 + exp(-misfit) / sqrt(2 * M_PI * x) * skewed;
}

/* The probability that a Poisson variable of mean m > 0 is x or more. If x is no whole number, that
 * of the gamma distribution. W. H. Press et al.: Numerical Recipes, 3rd edition, 2007, section 6.2:
 * a series where the probability is small, a continued fraction for the rest where it is not. */
static double upper_tail(double x, double m)
{
    if (!(x > 0))
        return x == x ? 1 : x;
    const double rate = poisson_rate(m);
    if (x > LARGE)
        return large_upper_tail(x, rate);
    if (rate < x + 1) {
        double term = 1, sum = 1;
        for (int i = 1; i < MOST_TERMS && term > sum * DBL_EPSILON; i++) {
            term *= rate / (x + i);
            sum += term;
        }
        return fmin(1, density(x, rate) * sum);
    }
    double b = rate + 1 - x, c = 1 / DBL_MIN, d = 1 / b, h = d;
    for (int i = 1; i < MOST_TERMS; i++) {
        const double a = -i * (i - x);
        b += 2;
        d = 1 / (a * d + b);
        c = b + a / c;
        h *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON)
            break;
    }
    return fmax(0, 1 - density(x, rate) * x * h);
}

/* The residual, that of Pearson, (x - m) / sqrt(m), and the probability of this count or a larger
 * one. */
static void residual_numbers(double value, double model, double *number)
{
    number[0] = number[1] = number[2] = residual(value, model);
    if (isnan(number[0]))
        return;
    const double rate = poisson_rate(model);
    number[1] = (value - rate) / sqrt(rate);
    number[2] = upper_tail(value, rate);
}

const struct loss loss_poisson = {.rates = true,
                                  .option = "--loss poisson",
                                  .reason = "--loss poisson is for counts",
                                  .refused = "negative",
                                  .takes = take_counts,
                                  .on_gpu = true,
                                  .terms = make_terms,
                                  .add_numbers = add_numbers,
                                  .sum_values = sum_values,
                                  .misfit = poisson_misfit,
                                  .perfect = poisson_perfect,
                                  .null_deviance = null_deviance,
                                  .margins = true,
                                  .residual = residual,
                                  .residual_numbers = residual_numbers,
                                  .residuals = RESIDUAL_NUMBERS,
                                  .residual_name = {"residual", "pearson", "p"}};
