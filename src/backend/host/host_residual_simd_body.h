/* The body of the inner loops of the residual: each host_residual_simdL*.c defines SIMD_WIDTH, says
 * for which processors, and includes this file once; no other file does. Loops over WIDTH columns
 * are the compiler's to put into vectors. */
#include <string.h>

#include "backend/host/host_residual_simd.h"

#define INLINE static inline __attribute__((always_inline))
#define WIDTH  8 /* columns at a time */

/* WIDTH numbers of twice the digits of a double, of which `low` may overlap `high`. */
struct wide {
    double high[WIDTH], low[WIDTH];
};

/* y (WIDTH) = the first `width` of `from`, then zeros. */
INLINE void load(double *y, const double *from, uint64_t width)
{
    for (int w = 0; w < WIDTH; w++)
        y[w] = 0;
    if (width == WIDTH)
        memcpy(y, from, WIDTH * sizeof *y);
    else
        for (uint64_t w = 0; w < width; w++)
            y[w] = from[w];
}

INLINE void multiply(struct wide *x, const double *y)
{
    for (int w = 0; w < WIDTH; w++) {
        struct double_double p = two_product(x->high[w], y[w]);
        x->high[w] = p.high;
        x->low[w] = x->low[w] * y[w] + p.low;
    }
}

INLINE void add(struct wide *sum, const struct wide *x)
{
    for (int w = 0; w < WIDTH; w++) {
        struct double_double s = two_sum(sum->high[w], x->high[w]);
        sum->high[w] = s.high;
        sum->low[w] += s.low + x->low[w];
    }
}

INLINE struct double_double total(const struct wide *sum)
{
    struct double_double all = {0, 0};
    for (int w = 0; w < WIDTH; w++)
        all = dd_add(all, two_sum(sum->high[w], sum->low[w]));
    return all;
}

static struct double_double model_at(const struct host_residual_block *p, uint64_t i)
{
    const double *row[MAX_ORDER];
    struct wide sum = {{0}, {0}};
    for (int n = 0; n < p->order; n++) {
        uint64_t at = host_row_coordinate(&p->mode[n], i);
        row[n] = p->mode[n].rows + (p->coordinate[n] ? p->coordinate[n][at] : at) * p->rank;
    }
    for (uint64_t r = 0; r < p->rank; r += WIDTH) {
        uint64_t width = p->rank - r < WIDTH ? p->rank - r : WIDTH;
        struct wide product = {{0}, {0}};
        double y[WIDTH];
        load(product.high, p->weight + r, width);
        for (int n = 0; n < p->order; n++) {
            load(y, row[n] + r, width);
            multiply(&product, y);
        }
        add(&sum, &product);
    }
    return total(&sum);
}

static struct double_double nonzeros(const struct host_residual_block *p, uint64_t first,
                                     uint64_t last)
{
    struct double_double sum = {0, 0};
    for (uint64_t i = first; i < last; i++)
        sum = dd_add(sum, dd_misfit(p->value[i], model_at(p, i)));
    return sum;
}

static void gram_row(const double *a, uint64_t rows, uint64_t rank, uint64_t i,
                     struct double_double *row)
{
    for (uint64_t j = i; j < rank; j += WIDTH) {
        uint64_t width = rank - j < WIDTH ? rank - j : WIDTH;
        struct wide sum = {{0}, {0}};
        for (uint64_t k = 0; k < rows; k++) {
            struct wide x = {{0}, {0}};
            double y[WIDTH];
            for (int w = 0; w < WIDTH; w++)
                x.high[w] = a[k * rank + i];
            load(y, a + k * rank + j, width);
            multiply(&x, y);
            add(&sum, &x);
        }
        for (uint64_t w = 0; w < width; w++)
            row[j + w] = two_sum(sum.high[w], sum.low[w]);
    }
}

#define KERNELS_OF(width)   host_residual_simd##width
#define KERNELS_NAME(width) KERNELS_OF(width)

const struct host_residual_kernels KERNELS_NAME(SIMD_WIDTH) = {nonzeros, gram_row};
