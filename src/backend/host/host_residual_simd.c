#include "backend/host/host_residual.h"

#include <string.h>

#include "backend/host/simd_vector.h"
#include "numerics/row_term.h"

/* `doubles` is a vector of SIMD_WIDTH doubles, fused(a, b, c) is a b + c rounded once. */
#if SIMD_WIDTH == 1
typedef double doubles;
#define fused(a, b, c) __builtin_fma(a, b, c)
#elif SIMD_WIDTH == 4
#include <immintrin.h>
typedef __m256d doubles;
#define fused(a, b, c) _mm256_fmadd_pd(a, b, c)
#else
#include <immintrin.h>
typedef __m512d doubles;
#define fused(a, b, c) _mm512_fmadd_pd(a, b, c)
#endif

/* SIMD_WIDTH numbers of twice the digits of a double, of which `low` may overlap `high`. */
struct wide {
    doubles high, low;
};

/* The first `width` entries of `from`, then zeros. */
INLINE doubles widen(const entry *from, uint64_t width)
{
    doubles x;
    double part[SIMD_WIDTH] = {0};
    for (uint64_t w = 0; w < SIMD_WIDTH && w < width; w++)
        part[w] = (double)from[w];
    memcpy(&x, part, sizeof x);
    return x;
}

/* The first `width` weights of `from`, then zeros. */
INLINE doubles load_weights(const double *from, uint64_t width)
{
    doubles x;
    double part[SIMD_WIDTH] = {0};
    for (uint64_t w = 0; w < SIMD_WIDTH && w < width; w++)
        part[w] = from[w];
    memcpy(&x, part, sizeof x);
    return x;
}

INLINE struct wide times(struct wide x, doubles y)
{
    doubles product = x.high * y;
    return (struct wide){product, fused(x.low, y, fused(x.high, y, -product))};
}

INLINE struct wide sum_of(struct wide a, struct wide b)
{
    doubles sum = a.high + b.high, of_b = sum - a.high;
    doubles lost = (a.high - (sum - of_b)) + (b.high - of_b);
    return (struct wide){sum, a.low + b.low + lost};
}

/* The sum of the columns: the second half is added to the first, as long as there are halves. */
INLINE struct double_double total(const struct wide *x)
{
    double high[SIMD_WIDTH], low[SIMD_WIDTH];
    memcpy(high, &x->high, sizeof high);
    memcpy(low, &x->low, sizeof low);
    for (int half = SIMD_WIDTH / 2; half > 0; half /= 2)
        for (int w = 0; w < half; w++) {
            struct double_double s = two_sum(high[w], high[w + half]);
            high[w] = s.high;
            low[w] += low[w + half] + s.low;
        }
    return two_sum(high[0], low[0]);
}

/* row[n] = the row of factor matrix n at nonzero i. */
INLINE void rows_at(const struct host_residual_terms *p, uint64_t i, const entry **row)
{
    for (int n = 0; n < p->order; n++) {
        uint64_t at = p->at[n][i];
        row[n] = (const entry *)p->rows[n] + (p->tuple[n] ? p->tuple[n][at] : at) * p->rank;
    }
}

static struct double_double model_at(const struct host_residual_terms *p, uint64_t i)
{
    const entry *row[MAX_ORDER];
    struct wide sum = {0};
    rows_at(p, i, row);
    for (uint64_t r = 0; r < p->rank; r += SIMD_WIDTH) {
        uint64_t width = p->rank - r;
        struct wide product = {.high = load_weights(p->weight + r, width)};
        for (int n = 0; n < p->order; n++)
            product = times(product, widen(row[n] + r, width));
        sum = sum_of(sum, product);
    }
    return total(&sum);
}

static struct double_double nonzeros(const struct host_residual_terms *p, uint64_t count)
{
    struct double_double sum = {0, 0};
    for (uint64_t i = 0; i < count; i++)
        sum = dd_add(sum, dd_weighed_misfit(p->value[i], model_at(p, i), p->unlisted));
    return sum;
}

static void components(const struct host_residual_terms *p, uint64_t count, double *restrict y,
                       double *restrict sum)
{
    const uint64_t rank = p->rank;
    const double h = p->unlisted;
    const bool rates = p->rates;
    const entry *row[MAX_ORDER];
    for (uint64_t i = 0; i < count; i++) {
        const double x = p->value[i];
        double m = 0;
        rows_at(p, i, row);
        memcpy(y, p->weight, rank * sizeof *y);
        for (int n = 0; n < p->order; n++) {
            const entry *restrict a = row[n];
            for (uint64_t r = 0; r < rank; r++)
                y[r] *= (double)a[r];
        }
#pragma omp simd reduction(+ : m)
        for (uint64_t r = 0; r < rank; r++)
            m += y[r];
        for (uint64_t r = 0; r < rank; r++) {
            const struct component_term t = component_term_of(x, m, y[r], h, rates);
            sum[r] += t.explained;
            sum[rank + r] += t.lost;
        }
    }
}

static void gram_row(const void *matrix, uint64_t rows, uint64_t rank, uint64_t i,
                     struct double_double *row)
{
    const entry *a = matrix;
    for (uint64_t j = i; j < rank; j += SIMD_WIDTH) {
        struct wide sum = {0};
        double high[SIMD_WIDTH], low[SIMD_WIDTH];
        for (uint64_t k = 0; k < rows; k++) {
            struct wide x = {.high = (doubles){0} + (double)a[k * rank + i]};
            sum = sum_of(sum, times(x, widen(a + k * rank + j, rank - j)));
        }
        memcpy(high, &sum.high, sizeof high);
        memcpy(low, &sum.low, sizeof low);
        for (uint64_t w = 0; w < SIMD_WIDTH && j + w < rank; w++)
            row[j + w] = two_sum(high[w], low[w]);
    }
}

const struct host_residual_kernels SIMD_NAME(host_residual) = {nonzeros, components, gram_row};
