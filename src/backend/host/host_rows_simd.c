#include "backend/host/host_rows_simd.h"

#include <math.h>
#include <string.h>

#include "backend/host/simd_vector.h"

#define CHAINS 4 /* entries of a row of U that are summed at a time */

INLINE vec broadcast(double x)
{
    return x - (vec){0};
}

INLINE vec choose(vec_bits where, vec yes, vec no)
{
    return (vec)((where & (vec_bits)yes) | (~where & (vec_bits)no));
}

INLINE vec larger(vec x, vec y)
{
    return choose((vec_bits)(x > y), x, y);
}

/* prox of numerics/row_rules.h, of each entry. */
INLINE vec prox_each(vec wanted, vec old, struct prox_rule rule)
{
    return larger(wanted, (rule.keeps - 1) * old);
}

/* x[c] (SIMD_WIDTH): entry l becomes entry c of what was x[l]. */
INLINE void transpose(vec *x)
{
    vec y[SIMD_WIDTH];
#ifdef __clang__ /* it has no __builtin_shuffle */
    for (int c = 0; c < SIMD_WIDTH; c++)
        for (int l = 0; l < SIMD_WIDTH; l++)
            y[c][l] = x[l][c];
    memcpy(x, y, sizeof y);
#else
    vec_bits low, high;
    for (int i = 0; i < SIMD_WIDTH; i++) {
        low[i] = i / 2 + i % 2 * SIMD_WIDTH;
        high[i] = low[i] + SIMD_WIDTH / 2;
    }
    for (int step = 1; step < SIMD_WIDTH; step *= 2) { /* a perfect shuffle each */
        for (int k = 0; k < SIMD_WIDTH / 2; k++) {
            y[2 * k] = __builtin_shuffle(x[k], x[k + SIMD_WIDTH / 2], low);
            y[2 * k + 1] = __builtin_shuffle(x[k], x[k + SIMD_WIDTH / 2], high);
        }
        memcpy(x, y, sizeof y);
    }
#endif
}

static void gather(const struct host_rows_matrices *m, bool whole, double *h)
{
    const uint64_t rank = m->rank, ld = m->ld;
    for (uint64_t i = 0; i < rank; i++) {
        for (uint64_t j = i / SIMD_WIDTH * SIMD_WIDTH; j < rank; j += SIMD_WIDTH) {
            vec x[SIMD_WIDTH];
            for (int l = 0; l < SIMD_WIDTH; l++)
                x[l] = load(m->g[l] + i * ld + j);
            transpose(x);
            for (uint64_t c = j < i ? i - j : 0; c < SIMD_WIDTH && j + c < rank; c++) {
                if (m->common)
                    x[c] += broadcast(m->common[i * ld + j + c]);
                store(h + (i * rank + j + c) * SIMD_WIDTH, x[c]);
                if (whole)
                    store(h + ((j + c) * rank + i) * SIMD_WIDTH, x[c]);
            }
        }
        double *at = h + (i * rank + i) * SIMD_WIDTH;
        store(at, load(at) + load(m->diagonal + i * SIMD_WIDTH));
    }
}

/* One pass; a row where `on` is 0 stays. Returns the largest step' H step of a coordinate. */
INLINE vec pass(const struct host_rows_descent *p, vec on)
{
    const uint64_t rank = p->rank;
    double *q = p->q, *d = p->d;
    vec most = {0};
    for (uint64_t r = 0; r < rank; r++) {
        const double *row = p->h + r * rank * SIMD_WIDTH;
        const vec at = load(d + r * SIMD_WIDTH);
        const vec wanted = at + load(q + r * SIMD_WIDTH) * load(p->inverse + r * SIMD_WIDTH);
        const vec step = on * (prox_each(wanted, load(p->old + r * SIMD_WIDTH), p->rule) - at);
        store(d + r * SIMD_WIDTH, at + step);
        UNROLLED
        for (uint64_t j = 0; j < rank; j++)
            store(q + j * SIMD_WIDTH, load(q + j * SIMD_WIDTH) - step * load(row + j * SIMD_WIDTH));
        most = larger(step * step * load(row + r * SIMD_WIDTH), most);
    }
    return most;
}

static void descend(const struct host_rows_descent *p)
{
    vec on = broadcast(1);
    for (uint64_t r = 0; r < p->rank; r++) {
        const vec x = load(p->h + (r * p->rank + r) * SIMD_WIDTH);
        const vec_bits counts = (vec_bits)(x > load(p->least + r * SIMD_WIDTH));
        store(p->inverse + r * SIMD_WIDTH, choose(counts, 1 / x, (vec){0}));
        store(p->d + r * SIMD_WIDTH, (vec){0});
    }
    for (int k = 0; k < p->passes; k++) {
        const vec most = pass(p, on);
        bool any = false;
        on = choose((vec_bits)(most < load(p->settled)), (vec){0}, on);
        for (int l = 0; l < SIMD_WIDTH; l++)
            any = any || on[l] != 0;
        if (!any)
            return;
    }
}

/* Entries j to j + columns of row k of U, before they are divided by its root. */
INLINE void reduce(double *h, uint64_t rank, uint64_t k, uint64_t j, int columns)
{
    vec sum[CHAINS];
    for (int c = 0; c < columns; c++)
        sum[c] = load(h + (k * rank + j + (uint64_t)c) * SIMD_WIDTH);
    for (uint64_t i = 0; i < k; i++) {
        const double *above = h + i * rank * SIMD_WIDTH;
        const vec f = load(above + k * SIMD_WIDTH);
        for (int c = 0; c < columns; c++)
            sum[c] -= f * load(above + (j + (uint64_t)c) * SIMD_WIDTH);
    }
    for (int c = 0; c < columns; c++)
        store(h + (k * rank + j + (uint64_t)c) * SIMD_WIDTH, sum[c]);
}

/* Row k of U; its diagonal entry becomes the inverse of the root. Returns the rows that fail. */
INLINE unsigned factorise_row(double *h, uint64_t rank, uint64_t k, const double *least)
{
    double *row = h + k * rank * SIMD_WIDTH, *diagonal = row + k * SIMD_WIDTH;
    unsigned failed = 0;
    uint64_t j = k;
    for (; j + CHAINS <= rank; j += CHAINS)
        reduce(h, rank, k, j, CHAINS);
    for (; j < rank; j++)
        reduce(h, rank, k, j, 1);
    vec inverse = load(diagonal);
    for (int l = 0; l < SIMD_WIDTH; l++) {
        failed |= inverse[l] > least[k * SIMD_WIDTH + (uint64_t)l] ? 0 : 1u << l;
        inverse[l] = 1 / sqrt(inverse[l]);
    }
    for (j = k + 1; j < rank; j++)
        store(row + j * SIMD_WIDTH, load(row + j * SIMD_WIDTH) * inverse);
    store(diagonal, inverse);
    return failed;
}

static unsigned solve(double *h, uint64_t rank, const double *least, double *q)
{
    unsigned failed = 0;
    for (uint64_t k = 0; k < rank; k++)
        failed |= factorise_row(h, rank, k, least);
    for (uint64_t k = 0; k < rank; k++) {
        const double *row = h + k * rank * SIMD_WIDTH;
        const vec x = load(q + k * SIMD_WIDTH) * load(row + k * SIMD_WIDTH);
        store(q + k * SIMD_WIDTH, x);
        for (uint64_t j = k + 1; j < rank; j++)
            store(q + j * SIMD_WIDTH, load(q + j * SIMD_WIDTH) - x * load(row + j * SIMD_WIDTH));
    }
    for (uint64_t k = rank; k-- > 0;) {
        const double *row = h + k * rank * SIMD_WIDTH;
        vec sum = load(q + k * SIMD_WIDTH);
        for (uint64_t j = k + 1; j < rank; j++)
            sum -= load(q + j * SIMD_WIDTH) * load(row + j * SIMD_WIDTH);
        store(q + k * SIMD_WIDTH, sum * load(row + k * SIMD_WIDTH));
    }
    return failed;
}

const struct host_rows_kernels SIMD_NAME(host_rows) = {SIMD_WIDTH, gather, descend, solve};
