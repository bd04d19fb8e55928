#include "report/residual_kind.h"

#include <float.h>
#include <math.h>

#include "numerics/poisson_term.h"

#define MOST_TERMS 100000 /* of a series, whose terms then have become small */
#define LARGE      1e6    /* above, the series would be long, and its first term inaccurate */

const char *const residual_names[][RESIDUAL_NUMBERS] = {
    [RESIDUAL_DIFFERENCE] = {"residual"},
    [RESIDUAL_POISSON] = {"residual", "pearson", "p"},
};

int residual_numbers(enum residual_kind kind)
{
    return kind == RESIDUAL_POISSON ? RESIDUAL_NUMBERS : 1;
}

double residual_of(enum residual_kind kind, double value, double model)
{
    if (kind == RESIDUAL_DIFFERENCE || isnan(value - model))
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

/* W. H. Press et al.: Numerical Recipes, 3rd edition, 2007, section 6.2: a series where the
 * probability is small, a continued fraction for the rest where it is not. */
double poisson_upper_tail(double x, double m)
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

void residual_fill(enum residual_kind kind, double value, double model, double *number)
{
    number[0] = residual_of(kind, value, model);
    if (kind == RESIDUAL_DIFFERENCE)
        return;
    number[1] = number[2] = number[0];
    if (isnan(number[0]))
        return;
    const double rate = poisson_rate(model);
    number[1] = (value - rate) / sqrt(rate);
    number[2] = poisson_upper_tail(value, rate);
}
