/* What a listed entry adds to the system of a row where values are counts, for host and device
 * code.
 *
 * As in row_term.h, a listed entry x counts with the weight v, and an entry that is not listed is a
 * zero of weight h; m = <a, z> is the model's rate there. The sum that is minimised is
 *
 *   sum over listed entries of (v (m - x - x log(m / x)) - h m)  +  h (sum of all rates),
 *
 * in which every bracket of v is 0 where m = x and positive elsewhere. In row a, with s the
 * products of the column sums of the other modes, its gradient is g = h s + q - b, where
 *
 *   b = sum of c z,  q = sum of (v - h) z,  H = sum of w z z'
 *
 * with c = v x / m and w = v x / m^2.
 *
 * Binary values are clipped counts: a one says that the count is not 0, which has the probability
 * 1 - exp(-m) (C. Hu, P. Rai, L. Carin: *Zero-truncated Poisson tensor factorization for massive
 * binary tensors*, UAI 2015). A one then has the term -log(1 - exp(-m)) and a zero m, where
 * brackets of v are above. With the expected count y = m / (1 - exp(-m)) of a one for x, the sum of
 * counts lies above this one and touches it at the present model: each step that lowers the sum of
 * counts lowers this one by as much. As y is 1 at least, so is the least count of a row.
 *
 * Zero-truncated counts are never 0: an entry is listed because its count is 1 at least, and
 * unlisted entries say nothing. A count x then has the term m + log(1 - exp(-m)) - x log m, up to a
 * constant. The logarithm is concave in m, so that its tangent at the present model m0 lies above
 * it: with m / (1 - exp(-m0)) for m in the bracket, the sum of counts lies above this one and
 * touches it. So each listed entry has the weight 1 / (1 - exp(-m0)) in q, the number of entries,
 * listed or not, that one listed entry stands for.
 *
 * A row with fewer known entries than components takes a diagonal step (poisson_diagonal). There H
 * is singular, and the minimum of the row lies where few entries have all. Steps that end near it,
 * as Newton's, or keep small entries small, as multiplicative ones (D. D. Lee, H. S. Seung, NIPS
 * 2000; E. C. Chi, T. G. Kolda: *On tensors, sparsity, and nonnegative factorizations*, SIAM
 * Journal on Matrix Analysis and Applications 33, 2012), fix the components of such rows before the
 * others have formed: where most rows were short, runs from the same starts ended .1 to .5 nats a
 * nonzero lower in likelihood. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "numerics/row_term.h"

#define POISSON_LEAST_RATE   1e-100 /* smaller rates count as this one: x / m^2 stays finite */
#define POISSON_FLOOR        1e-100 /* of an entry of a factor matrix, so that it can grow again ... */
#define POISSON_FLOOR_SINGLE 1e-30 /* ... and this in single precision */
#define POISSON_KEEPS        0.1   /* of an entry: no step leaves less */
#define POISSON_MU_KEEPS     0.5   /* ... where momentum comes before a multiplicative step */
#define POISSON_LIFT         1e-6  /* of the mean of a column: what a zero of a start becomes */

/* Constants of the Newton step of a row. */
#define POISSON_PASSES 8 /* of coordinate descent, at most                              */
#define POISSON_SETTLED                                                                            \
    1e-12 /* the last pass moves no coordinate by more, relative to a count       */
#define POISSON_RIDGE 1e-9 /* of the mean diagonal entry of H: for entries that H does not bind */
#define POISSON_WHOLE 0.3  /* a shorter step needs no damping */
#define POISSON_SHORT 32   /* known entries of a short row, at most */

/* What a listed value x says. */
enum poisson_kind {
    POISSON_COUNTS,   /* the count is x                                       */
    POISSON_CLIPPED,  /* the count is 0 where x is, and at least 1 elsewhere  */
    POISSON_TRUNCATED /* the count is x, and is listed because it is not 0    */
};

struct poisson_term {
    double c, w, q;
};

/* The rate as it counts. */
COMMON_FUNCTION double poisson_rate(double m)
{
    return m > POISSON_LEAST_RATE ? m : POISSON_LEAST_RATE;
}

/* The lesser of m and about 700, where exp(-m) is nothing. */
COMMON_FUNCTION double poisson_bound(double m)
{
#ifdef __CUDA_ARCH__ /* a comparison of doubles takes as long as a product; high halves suffice */
    return __hiloint2double(min(__double2hiint(m), 0x4085e000), __double2loint(m));
#else
    return m < 700 ? m : 700;
#endif
}

/* exp(-m) and 1 - exp(-m), where the rate is m, 0 or more, are zero / whole and one / whole: to all
 * digits, without a branch. With m = k log 2 + r, r from -.35 to .35, and C = r coth(r / 2),
 *
 *   exp(-r) = (C - r) / (C + r),  1 - exp(-r) = 2 r / (C + r),
 *
 * where C is a series in r^2: with the polynomial that equals (C - 2) / r^2 at the zeros of a
 * Chebyshev polynomial, off by 7e-18. */
struct poisson_parts {
    double one, zero, whole;
};

COMMON_FUNCTION struct poisson_parts poisson_parts(double m)
{
    const double shift = 0x1.8p52; /* its last bits are whole numbers */
    const double bound = poisson_bound(m), shifted = bound * 1.44269504088896338700 + shift;
    const double k = shifted - shift;
    const double r = (bound - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    const double z = r * r;
    double sum = 4.1437411344187316e-08; /* Horner's rule takes fewest registers */
    sum = -1.6534059504897808e-06 + z * sum;
    sum = 6.61375647128222e-05 + z * sum;
    sum = -0.002777777777756372 + z * sum;
    sum = 0.1666666666666666 + z * sum;
    const double even = 2 + z * sum;
    uint64_t bits;
    double power; /* 2^-k */
    memcpy(&bits, &shifted, sizeof bits);
    bits = (1023 - (bits & 2047)) << 52;
    memcpy(&power, &bits, sizeof power);
    struct poisson_parts part;
    part.whole = even + r;
    part.zero = power * (even - r);
    part.one = (1 - power) * part.whole + power * (2 * r);
    return part;
}

/* The probabilities of a clipped count. */
struct poisson_chance {
    double one, zero; /* 1 - exp(-m), exp(-m) */
};

COMMON_FUNCTION struct poisson_chance poisson_chance(double m)
{
    const struct poisson_parts part = poisson_parts(m);
    const struct poisson_chance chance = {row_quotient(part.one, part.whole),
                                          row_quotient(part.zero, part.whole)};
    return chance;
}

/* *by_rate = 1 / rate, *by_chance = 1 / (1 - exp(-rate)). A host divides once, since that takes
 * longest; a GPU leaves out what is not used. */
COMMON_FUNCTION void poisson_inverses(double rate, double *by_rate, double *by_chance)
{
    const struct poisson_parts part = poisson_parts(rate);
#ifdef __CUDA_ARCH__
    *by_rate = row_inverse(rate);
    *by_chance = row_inverse(part.one) * part.whole;
#else
    const double inverse = 1 / (rate * part.one);
    *by_rate = inverse * part.one;
    *by_chance = inverse * rate * part.whole;
#endif
}

/* What a listed value adds. */
COMMON_FUNCTION struct poisson_term poisson_term(enum poisson_kind kind, double x, double m,
                                                 double h)
{
    const double rate = poisson_rate(m);
    const int known = row_term_known(x);
    double by_rate, by_chance = 1;
    if (kind == POISSON_COUNTS)
        by_rate = row_inverse(rate);
    else
        poisson_inverses(rate, &by_rate, &by_chance);
    struct poisson_term t;
    t.c = known ? x * (kind == POISSON_CLIPPED ? by_chance : by_rate) : 0;
    t.w = t.c * by_rate;
    t.q = (known ? (kind == POISSON_TRUNCATED ? by_chance : 1) : 0) - h;
    return t;
}

/* Only c, of counts or clipped counts; of the latter with a product less than poisson_term needs.
 */
COMMON_FUNCTION double poisson_c(enum poisson_kind kind, double x, double m)
{
    const double rate = poisson_rate(m);
    double by = 0;
    if (kind == POISSON_COUNTS) {
        by = row_inverse(rate);
    } else {
        const struct poisson_parts part = poisson_parts(rate);
        by = row_quotient(part.whole, part.one);
    }
    return row_term_known(x) ? x * by : 0;
}

/* The most known entries of a short row, which takes the diagonal step: fewer than R, so that its
 * matrix H is singular. */
COMMON_FUNCTION int poisson_short_rows(uint64_t rank)
{
    return rank > POISSON_SHORT ? POISSON_SHORT : (int)rank - 1;
}

/* What a row is multiplied by before its diagonal step: then the model has the row's total, which
 * is the best multiple of the row. counts: a'b, mass: a'(h s + q). Where the row is t times what it
 * was, b is divided by t, and H by t^2. */
COMMON_FUNCTION double poisson_row_scale(double counts, double mass)
{
    return counts > 0 && mass > 0 ? counts / mass : 1;
}

/* An entry's part of the direction of a diagonal step, from -g and 1 / H_rr: to the entry's own
 * minimum of the quadratic model. Entries on which no value depends go as far as they may. */
COMMON_FUNCTION double poisson_diagonal(double down, double inverse, double old)
{
    const double wanted = down * inverse, bound = (POISSON_KEEPS - 1) * old;
    return wanted > bound ? wanted : bound; /* not NaN */
}

/* How far the row goes in the direction d; slope: -g'd, square: d'Hd, both not negative. To the
 * minimum of the quadratic model, but not beyond d, where L = sqrt(t^2 square / least) is small
 * there; else to where the bound of self-concordance,
 *
 *   least (-t L' - log(1 - t L')) - t slope,  L' = sqrt(square / least),
 *
 * is least: the objective surely falls. */
COMMON_FUNCTION double poisson_diagonal_part(double slope, double square, double least)
{
    const double length = sqrt(square / least), whole = slope < square ? slope / square : 1;
    const double damped = slope / (square + slope * length);
    return whole * length < POISSON_WHOLE || damped > whole ? whole : damped;
}

/* u - log(1 + u), to all digits, where u is from -1/8 to 1/8. With y = u / (2 + u), the logarithm
 * is 2 (y + y^3 / 3 + y^5 / 5 + ...), of which the first term is taken off exactly. */
COMMON_FUNCTION double poisson_excess_near_one(double u)
{
    const double y = u / (2 + u), z = y * y;
    double sum = 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    return y * (u - 2 * z * sum);
}

/* t - 1 - log t, to all digits; u = t - 1. */
COMMON_FUNCTION double poisson_excess(double t, double u)
{
    return u > -0.125 && u < 0.125 ? poisson_excess_near_one(u) : u - log(t);
}

/* poisson_excess of a positive, finite, normal t, with u = t - 1, without a branch. With t = 2^k f,
 * f from sqrt(1/2) to sqrt(2), and y = (f - 1) / (f + 1), log(t) is k log 2 + 2 (y + y^3 / 3 +
 * ...). Where k is 0, u - 2 y is y u, to all digits. */
COMMON_FUNCTION double poisson_excess_plain(double t, double u)
{
    const double log2_high = 6.93147180369123816490e-01, log2_low = 1.90821492927058770002e-10;
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

/* m - x - x log(m / x), the deviance of x from the rate m, halved; m where x is 0. */
COMMON_FUNCTION double poisson_count_misfit(double x, double m)
{
    const double rate = poisson_rate(m);
    return x > 0 ? x * poisson_excess(rate / x, (rate - x) / x) : m;
}

/* The same of a clipped count, to all digits, without a branch: -log(1 - exp(-m)) of a one. */
COMMON_FUNCTION double poisson_clipped_misfit(double x, double m)
{
    const struct poisson_chance chance = poisson_chance(poisson_rate(m));
    const double of_one = poisson_excess_plain(chance.one, -chance.zero) + chance.zero;
    return x > 0 ? of_one : m;
}

#define POISSON_TRUNCATED_STEPS 5 /* from the worst start, x = 2, they lead to all digits */

/* The rate of which zero-truncated counts have the mean x, 1 or more: the root of m - x (1 -
 * exp(-m)), which is convex, by Newton's steps from above. POISSON_LEAST_RATE where x is 1. */
COMMON_FUNCTION double poisson_truncated_rate(double x)
{
    double m = x < 2 ? 2 * (x - 1) : x;
    for (int i = 0; i < POISSON_TRUNCATED_STEPS; i++) {
        const struct poisson_chance chance = poisson_chance(m > 0 ? m : 0);
        const double slope = 1 - x * chance.zero, step = (m - x * chance.one) / slope;
        m -= slope > 0 ? step : 0;
    }
    return poisson_rate(m);
}

/* log t, of a positive, finite, normal t, without a branch. */
COMMON_FUNCTION double poisson_log_plain(double t)
{
    return t - 1 - poisson_excess_plain(t, t - 1);
}

/* The misfit of a zero-truncated count, without a branch: how much less likely x is than with the
 * rate s whose counts have the mean x. With y the mean of the counts of rate m, it is
 *
 *   s (m / s - 1 - log(m / s)) + (1 + s - x) log(m / s) + log(x / y). */
COMMON_FUNCTION double poisson_truncated_misfit(double x, double m)
{
    const double rate = poisson_rate(m), best = poisson_truncated_rate(x), ratio = rate / best;
    const double excess = best * poisson_excess_plain(ratio, (rate - best) / best);
    const double of_mean = x * poisson_chance(rate).one / rate;
    return excess + (1 + best - x) * poisson_log_plain(ratio) + poisson_log_plain(of_mean);
}

COMMON_FUNCTION double poisson_misfit(enum poisson_kind kind, double x, double m)
{
    return kind == POISSON_COUNTS    ? poisson_count_misfit(x, m)
           : kind == POISSON_CLIPPED ? poisson_clipped_misfit(x, m)
                                     : poisson_truncated_misfit(x, m);
}

/* The log-likelihood of a count x whose rate is x itself: x log x - x - log gamma(x + 1); 0 where x
 * is 0. These terms grow with x and cancel. Stirling's series gives their sum from 16 on; where x
 * is smaller, log gamma(x + 1) follows from log gamma(y + 1), with y = x + n, by the product of x +
 * 1 to y. */
COMMON_FUNCTION double poisson_perfect(double x)
{
    double y = x, product = 1;
    if (!(x > 0))
        return 0;
    while (y < 16) {
        y += 1;
        product *= y;
    }
    const double z = 1 / y, q = z * z;
    double series = 1.0 / 1188;
    series = series * q - 1.0 / 1680;
    series = series * q + 1.0 / 1260;
    series = series * q - 1.0 / 360;
    series = series * q + 1.0 / 12;
    const double of_y = -series * z - log(2 * 3.14159265358979323846 * y) / 2;
    return y == x ? of_y : of_y + log(product) - (y * log(y) - y) + (x * log(x) - x);
}
