#include "backend/host/host_terms.h"

#include <math.h>
#include <string.h>

#include "base/vector_clones.h"
#include "numerics/poisson_term.h"

VECTOR_CLONES void host_terms_squares(struct host_terms *t, const double *value, uint64_t count,
                                      double unlisted)
{
    for (uint64_t k = 0; k < count; k++) {
        const struct row_term of = row_term(value[k], t->m[k], unlisted);
        t->c[k] = of.c;
        t->w[k] = of.w;
        t->misfit[k] = of.misfit;
    }
}

VECTOR_CLONES void host_terms_sum_squares(const double *misfit, const double *value, uint64_t count,
                                          double *number)
{
    double known = 0, sum = 0, size = 0;
#pragma omp simd reduction(+ : known, sum, size)
    for (uint64_t k = 0; k < count; k++) {
        known += value[k] == value[k] ? 1 : 0;
        sum += misfit[k];
        size += fabs(misfit[k]);
    }
    number[SYSTEM_KNOWN] += known;
    number[SYSTEM_MISFIT] += sum;
    number[SYSTEM_SIZE] += size;
}

VECTOR_CLONES void host_terms_counts(struct host_terms *t, const double *value, uint64_t count,
                                     double unlisted)
{
    for (uint64_t k = 0; k < count; k++) {
        const struct poisson_term of = poisson_term(value[k], t->m[k], unlisted);
        t->c[k] = of.c;
        t->w[k] = of.w;
        t->q[k] = of.q;
    }
}

#define WIDEST 8 /* doubles of a vector */

VECTOR_CLONES void host_terms_sum_counts(const double *value, uint64_t count, double *number)
{
    const uint64_t whole = count / WIDEST * WIDEST;
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
    number[SYSTEM_LEAST] = host_system_least(number[SYSTEM_LEAST], isinf(least) ? 0 : least);
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

VECTOR_CLONES void host_terms_misfits(struct host_terms *t, const double *value, uint64_t count,
                                      double unlisted, struct host_value_sums *sums)
{
    double model = 0, misfit = 0;
#pragma omp simd reduction(+ : model, misfit)
    for (uint64_t k = 0; k < count; k++) {
        const double x = value[k] > 0 ? value[k] : 1, m = t->m[k], inverse = 1 / x;
        const double rate = poisson_rate(m);
        const double counted = x * excess(rate * inverse, (rate - x) * inverse);
        const double of = value[k] > 0 ? counted : value[k] == value[k] ? m : 0;
        t->misfit[k] = of - unlisted * m;
        model += ((value[k] == value[k] ? 1 : 0) - unlisted) * m;
        misfit += t->misfit[k];
    }
    sums->model += model;
    sums->misfit += misfit;
}

VECTOR_CLONES double host_terms_model_sq(const struct host_terms *t, const double *value,
                                         uint64_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t k = 0; k < count; k++)
        sum += value[k] == value[k] ? t->m[k] * t->m[k] : 0;
    return sum;
}
