/* The kernels of each vector length, and what they call that need not be compiled for each. */
#ifndef BLCO_HOST_MTTKRP_SIMD_H
#define BLCO_HOST_MTTKRP_SIMD_H

#include "backend/host/host_row_sums.h"

typedef void walk_kernel(struct walk *w, uint64_t first, uint64_t last);

struct walk_kernels {
    walk_kernel
        *kernel[2][4][2][4]; /* by distant, order (3, 4, 5, any), overlap, vectors of a tile */
};

extern const struct walk_kernels mttkrp_lanes1, mttkrp_lanes2, mttkrp_lanes4, mttkrp_lanes8;

/* Rows [from, to) of M, which no nonzero has. */
void walk_zero_rows(const struct walk *w, uint64_t from, uint64_t to);

/* One lock for a row is many times cheaper than an atomic addition for each of its entries. Rows
 * that share a lock only wait for each other. */
void walk_lock_row(uint64_t row);
void walk_unlock_row(uint64_t row);

/* Where STORE leaves a row's tile. */
static inline double *walk_store_row(const struct walk *w, uint64_t row)
{
    double *to = row == w->low ? w->low_row : row == w->high ? w->high_row : w->m + row * w->rank;
    return to + w->column;
}

#endif
