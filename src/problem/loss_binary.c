/* Binary: the values are 1, of probability 1 - exp(-m), or 0, and the negative log-likelihood is
 * minimised (numerics/poisson_term.h). */
#include "problem/loss.h"

#include <math.h>
#include <string.h>

#include "numerics/poisson_term.h"

static bool take_binary(double x)
{
    return x == 0 || x == 1;
}

static double expected(double m)
{
    return m > 0 ? poisson_chance(m).one : m == m ? 0 : m;
}

static double rate(double p)
{
    return -log1p(-p);
}

LOSS_RATE_TERMS(POISSON_CLIPPED)

/* t, which is positive and normal, is *whole 2^exponent with *whole from 1 to 2. Returns the
 * exponent, without a branch. */
static inline double split(double t, double *whole)
{
    const uint64_t one = UINT64_C(1023) << 52, shift = UINT64_C(0x4330000000000000); /* 2^52 */
    uint64_t bits, power;
    double exponent;
    memcpy(&bits, &t, sizeof bits);
    power = bits >> 52 | shift;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | one;
    memcpy(whole, &bits, sizeof bits);
    memcpy(&exponent, &power, sizeof power);
    return exponent - (0x1p52 + 1023);
}

/* The ones' probabilities are multiplied, so that a block has one logarithm: the product of
 * TERM_BLOCK numbers below 2 is finite. */
VECTOR_CLONES static void sum_values(const struct loss_terms *t, const double *value,
                                     uint64_t count, double unlisted, struct loss_sums *sums)
{
    double model = 0, misfit = 0, product = 1, exponent = 0;
#pragma omp simd reduction(+ : model, misfit, exponent) reduction(* : product)
    for (uint64_t k = 0; k < count; k++) {
        const double m = t->m[k], one = poisson_chance(poisson_rate(m)).one;
        double whole = 1;
        exponent += split(value[k] > 0 ? one : 1, &whole);
        product *= whole;
        model += ((value[k] == value[k] ? 1 : 0) - unlisted) * m;
        misfit += (value[k] == 0 ? m : 0) - unlisted * m;
    }
    sums->model += model;
    sums->misfit += misfit - (log(product) + exponent * M_LN2);
}

/* The likelihood of the values themselves is 1. */
static double perfect(double x)
{
    (void)x;
    return 0;
}

/* One probability for all entries. */
static double null_deviance(double total, double saturated, double entries)
{
    (void)saturated;
    const double zeros = entries - total;
    return zeros > 0 ? -total * log(total / entries) - zeros * log1p(-total / entries) : 0;
}

/* Its own probability where the other value is likelier, else 1. */
static double log_p(double value, double model)
{
    const double m = poisson_rate(model);
    if (isnan(value - model))
        return value - model;
    const double own = value > 0 ? log(poisson_chance(m).one) : -m;
    return own < -M_LN2 ? own : 0;
}

/* (x - p) / sqrt(p (1 - p)) */
static double pearson(double value, double m)
{
    return value > 0 ? sqrt(exp(-m) / poisson_chance(m).one) : -sqrt(expm1(m));
}

const struct loss loss_binary = {.rates = true,
                                 .option = "--loss binary",
                                 .values = {take_binary, "neither 0 nor 1",
                                            "--loss binary takes no others: expected --values "
                                            "binary, for which each nonzero is 1"},
                                 .kind = POISSON_CLIPPED,
                                 .expected = expected,
                                 .rate = rate,
                                 .unbounded = "which any large rates explain: expected zeros, "
                                              "listed or unlisted",
                                 .terms = make_terms,
                                 .add_numbers = loss_add_rates,
                                 .sum_values = sum_values,
                                 .misfit = poisson_clipped_misfit,
                                 .perfect = perfect,
                                 .saturated = perfect,
                                 .null_deviance = null_deviance,
                                 .null_model = "all entries have the same probability",
                                 .log_p = log_p,
                                 .pearson = pearson};
