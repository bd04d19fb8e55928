/* Poisson: the values are counts, and the sum of m - x - x log(m / x) over all entries is minimised
 * (numerics/poisson_term.h). */
#include "problem/loss.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/vector_clones.h"
#include "numerics/poisson_term.h"

#define WIDEST     8      /* doubles of a vector                                              */
#define MOST_TERMS 100000 /* of a series, whose terms then have become small                  */
#define LARGE      1e4    /* above, the series would be long where ... */
#define NEAR       .1 /* ... count and mean differ by less, relative to the count              */
#define FAR        5  /* erfc by a continued fraction ... */
#define FRACTION   60 /* ... of so many terms                                             */

static bool take_counts(double x)
{
    return x >= 0;
}

LOSS_RATE_TERMS(POISSON_COUNTS)

VECTOR_CLONES void loss_add_rates(const double *misfit, const double *value, uint64_t count,
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

VECTOR_CLONES static void sum_values(const struct loss_terms *t, const double *value,
                                     uint64_t count, double unlisted, struct loss_sums *sums)
{
    double model = 0, misfit = 0;
#pragma omp simd reduction(+ : model, misfit)
    for (uint64_t k = 0; k < count; k++) {
        const double x = value[k] > 0 ? value[k] : 1, m = t->m[k], inverse = 1 / x;
        const double rate = poisson_rate(m);
        const double counted = x * poisson_excess_plain(rate * inverse, (rate - x) * inverse);
        const double term = value[k] > 0 ? counted : value[k] == value[k] ? m : 0;
        model += ((value[k] == value[k] ? 1 : 0) - unlisted) * m;
        misfit += term - unlisted * m;
    }
    sums->model += model;
    sums->misfit += misfit;
}

static double saturated(double x)
{
    return x * log(x);
}

static double null_deviance(double total, double saturated, double entries)
{
    return saturated - total * log(total / entries);
}

/* log(exp(-m) m^a / gamma(a + 1)), from the misfit, so that nothing cancels where a is near m. */
static double log_density(double a, double m)
{
    return poisson_perfect(a) - poisson_count_misfit(a, m);
}

/* log(exp(z^2) erfc(z)), z >= 0: by a continued fraction where erfc(z) may become too small. */
static double log_scaled_erfc(double z)
{
    if (z < FAR)
        return z * z + log(erfc(z));
    double fraction = z;
    for (int i = FRACTION; i > 0; i--)
        fraction = z + i / (2 * fraction);
    return -log(fraction) - log(M_PI) / 2;
}

/* Which tail of the gamma distribution: P(a, m), the probability of a or more counts where m are
 * expected, or Q(a, m) = 1 - P(a, m), that of a - 1 counts or fewer. */
enum tail { TAIL_P, TAIL_Q };

/* log P or log Q where a is large and near m: the normal distribution, with corrections for its
 * skewness (N. M. Temme, *The asymptotic expansion of the incomplete gamma functions*, SIAM Journal
 * on Mathematical Analysis 10, 1979). */
static double log_near_tail(double a, double m, enum tail tail)
{
    /* coefficient[k][n] of eta^n / a^k */
    static const double coefficient[3][9] = {
        {-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835, -1.7875514403292181e-4,
         3.9192631785224378e-5, -2.1854485106799922e-6, -1.8540622107151600e-6},
        {-1.0 / 540, -1.0 / 288, 1.0 / 378, -9.9022633744855967e-4, 2.0576131687242798e-4,
         -4.0187757201646090e-7, -1.8098550334489978e-5, 7.6491609160811101e-6},
        {25.0 / 6048, -139.0 / 51840, 1.0 / 1296, 2.0093878600823045e-6, -1.0736653226365161e-4}};
    const double misfit = poisson_count_misfit(a, m), root = sqrt(misfit);
    const double eta = copysign(sqrt(2 * misfit / a), m - a);
    double skewed = 0;
    for (int k = 2; k >= 0; k--) {
        double sum = 0;
        for (int n = 8; n >= 0; n--)
            sum = sum * eta + coefficient[k][n];
        skewed = skewed / a + sum;
    }
    const double sign = tail == TAIL_P ? 1 : -1;
    skewed *= -sign / sqrt(2 * M_PI * a);
    if (sign * eta > 0) /* the tail has the middle of the distribution */
        return log1p(exp(-misfit) * (skewed - exp(log_scaled_erfc(root)) / 2));
    return log(exp(log_scaled_erfc(root)) / 2 + skewed) - misfit;
}

/* log P(a, m) where m < a + 1, log Q(a, m) elsewhere: a series and a continued fraction (W. H.
 * Press et al.: Numerical Recipes, 3rd edition, 2007, section 6.2). */
static double log_smaller_tail(double a, double m)
{
    if (m < a + 1) {
        double term = 1, sum = 1;
        for (int i = 1; i < MOST_TERMS && term > sum * DBL_EPSILON; i++) {
            term *= m / (a + i);
            sum += term;
        }
        return log_density(a, m) + log(sum);
    }
    double b = m + 1 - a, c = 1 / DBL_MIN, d = 1 / b, h = d;
    for (int i = 1; i < MOST_TERMS; i++) {
        const double step = -i * (i - a);
        b += 2;
        d = 1 / (step * d + b);
        c = b + step / c;
        h *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON)
            break;
    }
    return log_density(a, m) + log(a * h);
}

static double log_tail(double a, double m, enum tail tail)
{
    if (a > LARGE && fabs(m - a) < NEAR * a)
        return log_near_tail(a, m, tail);
    const double found = fmin(0, log_smaller_tail(a, m));
    return (m < a + 1) == (tail == TAIL_P) ? found : log1p(-exp(found));
}

double loss_log_upper(double x, double m)
{
    return x > 0 ? log_tail(x, m, TAIL_P) : 0;
}

double loss_log_lower(double x, double m)
{
    return x > 0 ? log_tail(x + 1, m, TAIL_Q) : -m;
}

/* Twice the smaller of the two tails. The median is at most log 2 below m and 1/3 above it (K. P.
 * Choi, *On the medians of gamma distributions and an equation of Ramanujan*, Proceedings of the
 * American Mathematical Society 121, 1994), so that one tail is enough where x is not near m. */
static double log_p(double value, double model)
{
    const double rate = poisson_rate(model);
    if (isnan(value - model))
        return NAN;
    if (isinf(value) || isinf(rate))
        return -INFINITY;
    const double upper = value > rate - 1 ? loss_log_upper(value, rate) : 0;
    const double lower = value < rate + 1 ? loss_log_lower(value, rate) : 0;
    return fmin(0, M_LN2 + fmin(upper, lower));
}

/* 1 - (P(X >= x) - v P(X = x)) / P(X >= least) */
static double place(double value, double model, double least, double v)
{
    const double rate = poisson_rate(model);
    const double all = least > 0 ? -expm1(-rate) : 1;
    const double upper = exp(loss_log_upper(value, rate)), own = exp(log_density(value, rate));
    return fmin(fmax(1 - (upper - v * own) / all, 0), 1);
}

static double pearson(double value, double m)
{
    return (value - m) / sqrt(m);
}

const struct loss loss_poisson = {
    .rates = true,
    .option = "--loss poisson",
    .values = {take_counts, "negative", "--loss poisson is for counts"},
    .terms = make_terms,
    .add_numbers = loss_add_rates,
    .sum_values = sum_values,
    .misfit = poisson_count_misfit,
    .perfect = poisson_perfect,
    .saturated = saturated,
    .null_deviance = null_deviance,
    .margins = true,
    .null_model = "the modes are independent (or, where some entries "
                  "are unknown or weigh less, all rates are equal)",
    .log_p = log_p,
    .place = place,
    .pearson = pearson};
