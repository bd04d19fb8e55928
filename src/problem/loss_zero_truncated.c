/* Zero-truncated: the values are counts of 1 or more, of Poisson variables that are known not to be
 * 0, and the negative log-likelihood is minimised (numerics/poisson_term.h). */
#include "problem/loss.h"

#include <math.h>

#include "numerics/poisson_term.h"

#define SMALL 1e-2 /* a rate below which a series gives the variance to more digits */

static bool take_positive(double x)
{
    return x >= 1;
}

static double expected(double m)
{
    return m > 0 ? m / poisson_chance(m).one : m == m ? 1 : m;
}

static double rate(double mean)
{
    return mean > 1 ? poisson_truncated_rate(mean) : 0;
}

LOSS_RATE_TERMS(POISSON_TRUNCATED)

VECTOR_CLONES static void sum_values(const struct loss_terms *t, const double *value,
                                     uint64_t count, double unlisted, struct loss_sums *sums)
{
    double model = 0, misfit = 0;
#pragma omp simd reduction(+ : model, misfit)
    for (uint64_t k = 0; k < count; k++) {
        const double m = t->m[k], known = value[k] == value[k] ? 1 : 0;
        const double term = poisson_truncated_misfit(known > 0 ? value[k] : 1, m);
        model += (known - unlisted) * m;
        misfit += (known > 0 ? term : 0) - unlisted * m;
    }
    sums->model += model;
    sums->misfit += misfit;
}

/* x log s - s - log(1 - exp(-s)) with the best rate s, where 1 - exp(-s) is s / x. */
static double saturated(double x)
{
    const double best = poisson_truncated_rate(x);
    return (x - 1) * log(best) - best + log(x);
}

/* With -log gamma(x + 1), of which poisson_perfect has x log x - x. The other terms are
 * (x - 1) log(s / x) + x - s. */
static double perfect(double x)
{
    const double best = poisson_truncated_rate(x);
    return poisson_perfect(x) + (x - 1) * log(best / x) + (x - best);
}

/* Equal rates, at which the mean of listed entries is to be expected. */
static double null_deviance(double total, double saturated, double entries)
{
    const double m = rate(total / entries);
    return saturated + entries * (m + log(poisson_chance(m).one)) - total * log(m);
}

/* Twice the probability of such a count or a larger one, among those of 1 or more, or of such a
 * count or a smaller one, whichever is less. The latter is what the counts above it leave, or,
 * where that is little, what the count 0 leaves of the counts below it. */
static double log_p(double value, double model)
{
    const double m = poisson_rate(model), log_all = log(poisson_chance(m).one);
    if (isnan(value - model))
        return NAN;
    if (isinf(value) || isinf(m))
        return -INFINITY;
    const double upper = loss_log_upper(value, m) - log_all;
    const double above = exp(loss_log_upper(value + 1, m) - log_all);
    const double lower =
        above < .5 ? log1p(-above) : log(exp(loss_log_lower(value, m)) - exp(-m)) - log_all;
    return fmin(0, M_LN2 + fmin(upper, lower));
}

static double place(double value, double model, double least, double v)
{
    return loss_poisson.place(value, model, fmax(least, 1), v);
}

/* The variance of such counts is y (1 + m - y), where y is their mean. */
static double pearson(double value, double m)
{
    const double y = expected(m);
    const double rest = m < SMALL ? m * (1. / 2 - m * (1. / 12 - m * m / 720)) : 1 + m - y;
    return (value - y) / sqrt(y * rest);
}

const struct loss loss_zero_truncated = {
    .rates = true,
    .option = "--loss zero-truncated",
    .values = {take_positive, "below 1", "--loss zero-truncated is for counts of 1 or more"},
    .kind = POISSON_TRUNCATED,
    .expected = expected,
    .rate = rate,
    .unbounded = "which any small rates explain: expected some larger counts",
    .terms = make_terms,
    .add_numbers = loss_add_rates,
    .sum_values = sum_values,
    .misfit = poisson_truncated_misfit,
    .perfect = perfect,
    .saturated = saturated,
    .null_deviance = null_deviance,
    .null_model = "all rates are equal",
    .log_p = log_p,
    .place = place,
    .pearson = pearson};
