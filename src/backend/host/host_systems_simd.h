/* The inner loops of host_systems.c, compiled once for each SIMD width. Matrices are row-major, and
 * their rows have `ld` entries: R, rounded up to a multiple of HOST_SYSTEM_PAD, the last ones 0. */
#ifndef BLCO_HOST_SYSTEMS_SIMD_H
#define BLCO_HOST_SYSTEMS_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/host/host_entries.h"

#define HOST_SYSTEM_PAD   8  /* entries: of the widest vectors                        */
#define HOST_SYSTEM_BLOCK 64 /* nonzeros that are worked on at a time, at most        */

/* R rounded up: entries of a row of a system. */
static inline uint64_t host_system_ld(uint64_t rank)
{
    return (rank + HOST_SYSTEM_PAD - 1) / HOST_SYSTEM_PAD * HOST_SYSTEM_PAD;
}

/* The other modes' rows, of which z of a nonzero is the product; borrowed. */
struct host_products {
    int others;          /* order - 1 */
    uint64_t nnz, ahead; /* nonzeros from a row's prefetch to its use; 0: rows are not prefetched */
    uint64_t rank, ld;
    enum precision precision;                  /* of the entries of `rows`                */
    const void *rows[MAX_ORDER - 1];           /* (I_n x R)                               */
    const uint32_t *coordinate[MAX_ORDER - 1]; /* (nonzeros)                              */
};

/* Nonzeros, and what is computed of them. Arrays have room for a multiple of HOST_SYSTEM_PAD
 * nonzeros: those after the last are computed, too. */
struct host_products_block {
    uint64_t first, count;  /* nonzeros [first, first + count)                   */
    bool one;               /* a[0] is the row of all                            */
    const double *const *a; /* (count): the row (ld) of each nonzero, laid out   */
    double *z;              /* (count x ld); was 0 in the columns from R on      */
    double *m;              /* (count): the inner products of a and z            */
};

struct host_systems_kernels {
    /* a (ld) = a row of entries, times `by` (R). */
    void (*read_row)(const struct host_products *p, const void *row, const double *by, double *a);

    /* to (ld) = a (ld), by vectors as `products` takes it. */
    void (*lay_out)(const struct host_products *p, const double *a, double *to);

    void (*products)(const struct host_products *p, const struct host_products_block *x);

    /* b (ld) += sum over k of c[k] z_k. */
    void (*add_vector)(const double *z, uint64_t count, uint64_t ld, const double *c, double *b);

    /* g (ld x ld) += the sum of w[k] z_k z_k', or = where it is fresh, in its entries (i, j) with i
     * <= j at least. wz (count x ld) is scratch. */
    void (*add)(const double *z, uint64_t count, uint64_t ld, const double *w, double *wz,
                bool fresh, double *g);

    /* y (count x ld) = sqrt(w[k]) z_k. */
    void (*factor)(const double *z, uint64_t count, uint64_t ld, const double *w, double *y);
};

extern const struct host_systems_kernels host_systems_double2, host_systems_double4,
    host_systems_double8;

#endif
