/* The inner loops of host_systems.c, compiled once for each SIMD width. Matrices are row-major, and
 * their rows have `ld` entries: R, rounded up to a multiple of HOST_SYSTEM_PAD, the last ones 0. */
#ifndef BLCO_HOST_SYSTEMS_SIMD_H
#define BLCO_HOST_SYSTEMS_SIMD_H

#include <stdint.h>

#include "backend/host/host_entries.h"

#define HOST_SYSTEM_PAD   8  /* entries: of the widest vectors                        */
#define HOST_SYSTEM_BLOCK 32 /* nonzeros that are worked on at a time, at most        */

/* The other modes' rows, of which z of a nonzero is the product; borrowed. */
struct host_products {
    int others; /* order - 1 */
    uint64_t rank, ld;
    enum precision precision;                  /* of the entries of `rows`                */
    const void *rows[MAX_ORDER - 1];           /* (I_n x R)                               */
    const uint32_t *coordinate[MAX_ORDER - 1]; /* (nonzeros)                              */
};

struct host_systems_kernels {
    /* z (count x ld) of nonzeros [first, first + count). */
    void (*products)(const struct host_products *p, uint64_t first, uint64_t count, double *z);

    /* m[k] (count) = the inner product of row k of z and a (ld). */
    void (*values)(const double *z, uint64_t count, uint64_t ld, const double *a, double *m);

    /* b (ld) += sum over k of c[k] z_k. */
    void (*add_vector)(const double *z, uint64_t count, uint64_t ld, const double *c, double *b);

    /* The same, and g (ld x ld) += sum of w[k] z_k z_k', in its entries (i, j) with i <= j at
     * least. wz (count x ld) is scratch. */
    void (*add)(const double *z, uint64_t count, uint64_t ld, const double *c, const double *w,
                double *wz, double *b, double *g);
};

extern const struct host_systems_kernels host_systems_double2, host_systems_double4,
    host_systems_double8;

#endif
