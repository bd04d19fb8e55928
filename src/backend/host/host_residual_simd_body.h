/* The body of the inner loops of the residual: each host_residual_simdL*.c and
 * host_residual_singleL*.c defines SIMD_SINGLE where entries are floats, SIMD_WIDTH, vec
 * (SIMD_WIDTH doubles) and fused(a, b, c), which is a b + c rounded once, says for which
 * processors, and includes this file once; no other file does. */
#include <string.h>

#include "backend/host/host_residual_simd.h"

#define INLINE static inline __attribute__((always_inline))

/* SIMD_WIDTH numbers of twice the digits of a double, of which `low` may overlap `high`. */
struct wide {
    vec high, low;
};

#ifdef SIMD_SINGLE
typedef float entry;
#else
typedef double entry;
#endif

/* The first `width` entries of `from`, then zeros. */
INLINE vec load(const entry *from, uint64_t width)
{
    vec x;
    double part[SIMD_WIDTH] = {0};
    for (uint64_t w = 0; w < SIMD_WIDTH && w < width; w++)
        part[w] = (double)from[w];
    memcpy(&x, part, sizeof x);
    return x;
}

/* The first `width` weights of `from`, then zeros. */
INLINE vec load_weights(const double *from, uint64_t width)
{
    vec x;
    double part[SIMD_WIDTH] = {0};
    for (uint64_t w = 0; w < SIMD_WIDTH && w < width; w++)
        part[w] = from[w];
    memcpy(&x, part, sizeof x);
    return x;
}

INLINE struct wide times(struct wide x, vec y)
{
    vec product = x.high * y;
    return (struct wide){product, fused(x.low, y, fused(x.high, y, -product))};
}

INLINE struct wide sum_of(struct wide a, struct wide b)
{
    vec sum = a.high + b.high, of_b = sum - a.high;
    vec lost = (a.high - (sum - of_b)) + (b.high - of_b);
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

static struct double_double model_at(const struct host_residual_terms *p, uint64_t i)
{
    const entry *row[MAX_ORDER];
    struct wide sum = {0};
    for (int n = 0; n < p->order; n++) {
        uint64_t at = p->at[n][i];
        row[n] = (const entry *)p->rows[n] + (p->tuple[n] ? p->tuple[n][at] : at) * p->rank;
    }
    for (uint64_t r = 0; r < p->rank; r += SIMD_WIDTH) {
        uint64_t width = p->rank - r;
        struct wide product = {.high = load_weights(p->weight + r, width)};
        for (int n = 0; n < p->order; n++)
            product = times(product, load(row[n] + r, width));
        sum = sum_of(sum, product);
    }
    return total(&sum);
}

static struct double_double nonzeros(const struct host_residual_terms *p, uint64_t count)
{
    struct double_double sum = {0, 0};
    for (uint64_t i = 0; i < count; i++)
        sum = dd_add(sum, dd_misfit(p->value[i], model_at(p, i)));
    return sum;
}

static void gram_row(const void *matrix, uint64_t rows, uint64_t rank, uint64_t i,
                     struct double_double *row)
{
    const entry *a = matrix;
    for (uint64_t j = i; j < rank; j += SIMD_WIDTH) {
        struct wide sum = {0};
        double high[SIMD_WIDTH], low[SIMD_WIDTH];
        for (uint64_t k = 0; k < rows; k++) {
            struct wide x = {.high = (vec){0} + (double)a[k * rank + i]};
            sum = sum_of(sum, times(x, load(a + k * rank + j, rank - j)));
        }
        memcpy(high, &sum.high, sizeof high);
        memcpy(low, &sum.low, sizeof low);
        for (uint64_t w = 0; w < SIMD_WIDTH && j + w < rank; w++)
            row[j + w] = two_sum(high[w], low[w]);
    }
}

#ifdef SIMD_SINGLE
#define KERNELS_OF(width) host_residual_single##width
#else
#define KERNELS_OF(width) host_residual_simd##width
#endif
#define KERNELS_NAME(width) KERNELS_OF(width)

const struct host_residual_kernels KERNELS_NAME(SIMD_WIDTH) = {nonzeros, gram_row};
