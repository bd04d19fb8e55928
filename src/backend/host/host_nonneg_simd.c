/* The rows are transposed to columns of `b` and `m` (R x ROWS each), so that the rows of a vector
 * take the same steps together. */
#include "backend/host/host_nonneg.h"

#include <string.h>

#include "backend/host/simd_vector.h"
#include "numerics/nonneg.h"

#define ROWS (NONNEG_VECTORS * SIMD_WIDTH)

/* The proximal step of a row that shares its V: an entry is no less than its floor; a NaN stays. */
INLINE vec prox_floor(vec x, double least)
{
    vec low = least - (vec){0};
    vec_bits below = (vec_bits)(x < low);
    return (vec)((below & (vec_bits)low) | (~below & (vec_bits)x));
}

/* sum (NONNEG_VECTORS) = sum over s of w[s] b(s,:): two sums for each vector hide an addition's
 * latency. */
INLINE void weighted_sum(const double *w, const double *b, uint64_t rank, vec *sum)
{
    vec odd[NONNEG_VECTORS];
    for (int v = 0; v < NONNEG_VECTORS; v++)
        sum[v] = odd[v] = (vec){0};
    uint64_t s = 0;
    for (; s + 2 <= rank; s += 2)
        for (int v = 0; v < NONNEG_VECTORS; v++) {
            sum[v] += w[s] * load(b + s * ROWS + v * SIMD_WIDTH);
            odd[v] += w[s + 1] * load(b + (s + 1) * ROWS + v * SIMD_WIDTH);
        }
    for (int v = 0; v < NONNEG_VECTORS; v++) {
        if (s < rank)
            sum[v] += w[s] * load(b + s * ROWS + v * SIMD_WIDTH);
        sum[v] += odd[v];
    }
}

INLINE void pass(const struct host_nonneg *p, const double *m, double *b)
{
    for (uint64_t r = 0; r < p->rank; r++) {
        vec sum[NONNEG_VECTORS];
        weighted_sum(p->w + r * p->rank, b, p->rank, sum);
        for (int v = 0; v < NONNEG_VECTORS; v++) {
            uint64_t at = r * ROWS + (uint64_t)v * SIMD_WIDTH;
            store(b + at, prox_floor(load(m + at) - sum[v], p->floor[r]));
        }
    }
}

/* Multiplies each row b by m b' / (b V b'), or by 0. */
INLINE void fit_rows(const struct host_nonneg *p, const double *m, double *b)
{
    vec inner[NONNEG_VECTORS], square[NONNEG_VECTORS], sum[NONNEG_VECTORS];
    memset(inner, 0, sizeof inner);
    memset(square, 0, sizeof square);
    for (uint64_t r = 0; r < p->rank; r++) {
        weighted_sum(p->w + r * p->rank, b, p->rank, sum);
        for (int v = 0; v < NONNEG_VECTORS; v++) {
            uint64_t at = r * ROWS + (uint64_t)v * SIMD_WIDTH;
            vec weighted = load(b + at) * p->diagonal[r];
            inner[v] += weighted * load(m + at);
            square[v] += weighted * (sum[v] + load(b + at));
        }
    }
    for (int v = 0; v < NONNEG_VECTORS; v++)
        for (int l = 0; l < SIMD_WIDTH; l++) {
            double alpha = inner[v][l] > 0 && square[v][l] > 0 ? inner[v][l] / square[v][l] : 0;
            for (uint64_t r = 0; r < p->rank; r++)
                b[r * ROWS + (uint64_t)(v * SIMD_WIDTH + l)] *= alpha;
        }
}

/* to (R x ROWS) = the transposed rows, their columns multiplied by `scale`. */
INLINE void transpose_in(double *to, const double *from, uint64_t rows, uint64_t rank,
                         const double *scale)
{
    for (uint64_t r = 0; r < rank; r++)
        for (uint64_t i = 0; i < ROWS; i++)
            to[r * ROWS + i] = i < rows ? from[i * rank + r] * scale[r] : 0;
}

void SIMD_NAME(host_nonneg)(const struct host_nonneg *p, const double *m, const double *a,
                            double *x, uint64_t rows, double *scratch)
{
    double *b = scratch, *tm = scratch + ROWS * p->rank;
    for (uint64_t first = 0; first < rows; first += ROWS) {
        uint64_t count = rows - first < ROWS ? rows - first : ROWS;
        const double *from = a + first * p->rank;
        double *to = x + first * p->rank;
        transpose_in(b, from, count, p->rank, p->a_scale);
        transpose_in(tm, m + first * p->rank, count, p->rank, p->m_scale);
        for (uint64_t e = 0; p->fit_rows && e < p->rank * ROWS; e++)
            b[e] = b[e] < 0 ? 0 : b[e]; /* a start of negative weights */
        if (p->fit_rows)
            fit_rows(p, tm, b);
        for (int k = 0; k < NONNEG_PASSES; k++)
            pass(p, tm, b);
        for (uint64_t i = 0; i < count; i++)
            for (uint64_t r = 0; r < p->rank; r++)
                to[i * p->rank + r] = b[r * ROWS + i] * p->out_scale[r];
    }
}
