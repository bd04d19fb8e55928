#include "backend/host/host_terms.h"

#include <math.h>
#include <string.h>

#include "base/vector_clones.h"
#include "numerics/poisson_term.h"

VECTOR_CLONES static double sum_of(const double *x, uint64_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t k = 0; k < count; k++)
        sum += x[k];
    return sum;
}

VECTOR_CLONES static double known_of(const double *value, uint64_t count)
{
    double known = 0;
#pragma omp simd reduction(+ : known)
    for (uint64_t k = 0; k < count; k++)
        known += value[k] == value[k] ? 1 : 0;
    return known;
}

VECTOR_CLONES static void fill_squares(struct host_terms *t, const double *value, uint64_t count,
                                       double unlisted)
{
    for (uint64_t k = 0; k < count; k++) {
        const struct row_term of = row_term(value[k], t->m[k], unlisted);
        t->c[k] = of.c;
        t->w[k] = of.w;
        t->misfit[k] = of.misfit;
    }
}

VECTOR_CLONES static double size_of(const double *x, uint64_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t k = 0; k < count; k++)
        sum += fabs(x[k]);
    return sum;
}

void host_terms_squares(struct host_terms *t, const double *value, uint64_t count, double unlisted,
                        double *number)
{
    fill_squares(t, value, count, unlisted);
    number[SYSTEM_KNOWN] += known_of(value, count);
    number[SYSTEM_MISFIT] += sum_of(t->misfit, count);
    number[SYSTEM_SIZE] += size_of(t->misfit, count);
}

VECTOR_CLONES static void fill_counts(struct host_terms *t, const double *value, uint64_t count,
                                      double unlisted)
{
    for (uint64_t k = 0; k < count; k++) {
        const struct poisson_term of = poisson_term(value[k], t->m[k], unlisted);
        t->c[k] = of.c;
        t->w[k] = of.w;
        t->q[k] = of.q;
    }
}

#define CHAINS 8 /* entries of the widest vectors */

/* Infinity where no value is above 0. */
VECTOR_CLONES static double least_above_zero(const double *value, uint64_t count)
{
    double least[CHAINS], all = INFINITY;
    for (int i = 0; i < CHAINS; i++)
        least[i] = INFINITY;
    uint64_t k = 0;
    for (; k + CHAINS <= count; k += CHAINS)
        for (int i = 0; i < CHAINS; i++) {
            const double x = value[k + (uint64_t)i] > 0 ? value[k + (uint64_t)i] : INFINITY;
            least[i] = x < least[i] ? x : least[i];
        }
    for (; k < count; k++)
        least[0] = value[k] > 0 && value[k] < least[0] ? value[k] : least[0];
    for (int i = 0; i < CHAINS; i++)
        all = least[i] < all ? least[i] : all;
    return all;
}

void host_terms_counts(struct host_terms *t, const double *value, uint64_t count, double unlisted,
                       double *number)
{
    const double least = least_above_zero(value, count);
    fill_counts(t, value, count, unlisted);
    number[SYSTEM_KNOWN] += known_of(value, count);
    number[SYSTEM_LEAST] = host_system_least(number[SYSTEM_LEAST], isinf(least) ? 0 : least);
}

/* log(t) of a positive, finite, normal t, to an ulp or two, without a branch. With t = 2^k f, f
 * from sqrt(1/2) to sqrt(2), and y = (f - 1) / (f + 1), it is k log 2 + 2 (y + y^3 / 3 + ...). */
static inline double log_of(double t)
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
    const double y = (f - 1) / (f + 1), z = y * y;
    double sum = 2.0 / 21;
    sum = sum * z + 2.0 / 19;
    sum = sum * z + 2.0 / 17;
    sum = sum * z + 2.0 / 15;
    sum = sum * z + 2.0 / 13;
    sum = sum * z + 2.0 / 11;
    sum = sum * z + 2.0 / 9;
    sum = sum * z + 2.0 / 7;
    sum = sum * z + 2.0 / 5;
    sum = sum * z + 2.0 / 3;
    return k * log2_high + (2 * y + (y * z * sum + k * log2_low));
}

/* poisson_excess without a branch. */
static inline double excess(double t, double u)
{
    const double near = poisson_excess_near_one(u), far = u - log_of(t);
    return fabs(u) < 0.125 ? near : far;
}

VECTOR_CLONES static void fill_misfits(struct host_terms *t, const double *value, uint64_t count,
                                       double unlisted)
{
    for (uint64_t k = 0; k < count; k++) {
        const double x = value[k] > 0 ? value[k] : 1, m = t->m[k];
        const double rate = m > POISSON_LEAST_RATE ? m : POISSON_LEAST_RATE;
        const double counted = x * excess(rate / x, (rate - x) / x);
        const double of = value[k] > 0 ? counted : value[k] == value[k] ? m : 0;
        t->misfit[k] = of - unlisted * m;
        t->q[k] = ((value[k] == value[k] ? 1 : 0) - unlisted) * m;
    }
}

void host_terms_misfits(struct host_terms *t, const double *value, uint64_t count, double unlisted,
                        struct host_value_sums *sums)
{
    fill_misfits(t, value, count, unlisted);
    sums->model += sum_of(t->q, count);
    sums->misfit += sum_of(t->misfit, count);
}

double host_terms_model_sq(const struct host_terms *t, const double *value, uint64_t count)
{
    double sum = 0;
    for (uint64_t k = 0; k < count; k++)
        sum += value[k] == value[k] ? t->m[k] * t->m[k] : 0;
    return sum;
}
