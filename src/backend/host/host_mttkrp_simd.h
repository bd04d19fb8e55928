/* The kernels of each vector length, and what they call that need not be compiled for each. */
#ifndef BLCO_HOST_MTTKRP_SIMD_H
#define BLCO_HOST_MTTKRP_SIMD_H

#include "backend/host/host_row_sums.h"

typedef void row_sum_kernel(struct row_sums *w, uint64_t first, uint64_t last);

struct row_sum_kernels {
    row_sum_kernel
        *kernel[2][4][2][4]; /* by distant, order (3, 4, 5, any), overlap, vectors of a tile */
};

extern const struct row_sum_kernels mttkrp_lanes1, mttkrp_lanes2, mttkrp_lanes4, mttkrp_lanes8;

/* Rows [from, to) of M, which no nonzero has. */
void row_sums_zero(const struct row_sums *w, uint64_t from, uint64_t to);

/* One lock for a row is many times cheaper than an atomic addition for each of its entries. Rows
 * that share a lock only wait for each other. */
void row_lock(uint64_t row);
void row_unlock(uint64_t row);

/* Where STORE leaves a row's tile. */
static inline double *row_store(const struct row_sums *w, uint64_t row)
{
    double *to = row == w->low ? w->low_row : row == w->high ? w->high_row : w->m + row * w->rank;
    return to + w->column;
}

#endif
