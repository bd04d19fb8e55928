#include "model/ktensor_at.h"

#include "base/least.h"
#include "base/vector_clones.h"

#define PART   1024 /* entries that a thread takes */
#define AHEAD  8    /* entries whose rows are fetched beforehand */
#define CACHED 64   /* bytes that are fetched together */

#define INLINE static inline __attribute__((always_inline))

/* sum (width) += the terms r to r + width - 1 of an entry with these rows. */
INLINE void add_terms(double *sum, uint64_t width, const struct ktensor *k, uint64_t r,
                      const double *const *row)
{
    double term[8];
    for (uint64_t w = 0; w < width; w++)
        term[w] = k->lambda[r + w];
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t w = 0; w < width; w++)
            term[w] *= row[n][r + w];
    for (uint64_t w = 0; w < width; w++)
        sum[w] += term[w];
}

INLINE double value_of(const struct ktensor *k, const double *const *row)
{
    double sum[8] = {0};
    uint64_t r = 0;
    for (; r + 8 <= k->rank; r += 8)
        add_terms(sum, 8, k, r, row);
    if (r + 4 <= k->rank) {
        add_terms(sum, 4, k, r, row);
        r += 4;
    }
    for (; r < k->rank; r++)
        add_terms(sum, 1, k, r, row);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

INLINE void fetch_rows(const struct ktensor *k, const struct coo *x, uint64_t i)
{
    for (int n = 0; n < k->shape.order; n++) {
        const char *row = (const char *)(k->factor[n] + x->index[n][i] * k->rank);
        for (uint64_t at = 0; at < k->rank * sizeof(double); at += CACHED)
            __builtin_prefetch(row + at);
    }
}

/* Of entries [first, last). */
VECTOR_CLONES static void values_of(double *value, const struct ktensor *k, const struct coo *x,
                                    uint64_t first, uint64_t last)
{
    const double *row[MAX_ORDER];
    for (uint64_t i = first; i < last; i++) {
        if (i + AHEAD < last)
            fetch_rows(k, x, i + AHEAD);
        for (int n = 0; n < k->shape.order; n++)
            row[n] = k->factor[n] + x->index[n][i] * k->rank;
        value[i] = value_of(k, row);
    }
}

void ktensor_at(double *value, const struct ktensor *k, const struct coo *x)
{
#pragma omp parallel for schedule(dynamic) if (x->nnz > PART)
    for (uint64_t first = 0; first < x->nnz; first += PART)
        values_of(value, k, x, first, least_of(first + PART, x->nnz));
}
