/* The BLCO tensor in device memory: the coordinates go over once, every ordering is encoded and
 * sorted there. */
#ifndef BLCO_DEVICE_BLCO_H
#define BLCO_DEVICE_BLCO_H

#include <cuda_runtime.h>
#include <stdbool.h>

#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_staging.h"
#include "tensor/blco.h"

/* The nonzeros on the device, in the order of the coordinate tensor until they are sorted. */
struct device_coo {
    int order;
    uint64_t nnz;
    uint64_t dims[MAX_ORDER];
    struct ordering line; /* ordering_common's: the longest mode lowest */
    bool sorted;          /* the nonzeros stand in this ordering        */
    uint64_t *packed;     /* (nnz): their lines in this ordering; NULL where a line has more than 64
                           * bits; device, owned */
    uint32_t *index[MAX_ORDER];     /* (nnz) each where packed is NULL; device, owned */
    double *value;                  /* (nnz); device, owned                           */
    const struct device_pool *pool; /* of these arrays and of what is built from them */
};

/* Everything but the arrays, which are NULL. */
void device_coo_init(struct device_coo *d, int order, const uint64_t *dims, uint64_t nnz,
                     const struct device_pool *pool);

/* Copies x to the device, in arrays of the pool, which works on the staging's stream and stays the
 * caller's. Lines and values go over the bus in fewer bytes where these hold them. x may be freed
 * afterwards. *d is empty on failure. */
enum status device_coo_upload(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error);

/* Sorts the nonzeros along d->line. Every `mode n` tensor built from them then sorts by mode n's
 * bits alone, so this pays from the second one on. Asynchronous. Device memory while it runs: 16
 * bytes a nonzero where d->packed is used, 28 otherwise (36 from 2^32 nonzeros on).
 * STATUS_MEMORY leaves *d as it was. */
enum status device_coo_sort(struct device_coo *d, struct error *error);

void device_coo_free(struct device_coo *d);

struct device_blco {
    int order;
    uint64_t nnz;
    uint64_t dims[MAX_ORDER];
    struct ordering ordering;
    uint64_t *index[2]; /* (nnz) each; [1] NULL where ordering.words is 1; device, owned     */
    void *value;        /* (nnz), double or float; device, owned                             */
    uint64_t nblocks;
    struct blco_block *block; /* (nblocks), as in struct blco, without a limit on a block's size;
                               * host, owned */
};

/* Builds the ordering `kind` on the device with the same layout, nonzeros and blocks as blco_build
 * (max_block_nnz unlimited) gives on the host. real_size 8 or 4: bytes of a value. index_bits 0: as
 * in struct blco_options. `last`: x's arrays may become b's; x is then of no use any more but to be
 * freed. The arrays come from x's pool and are filled when its stream gets there.
 * Device memory beyond the result: at most 32 bytes a nonzero while it runs, which go back to the
 * pool. STATUS_MEMORY where the device has no room; *b is then empty. */
enum status device_blco_build(struct device_blco *b, struct device_coo *x, int kind, int index_bits,
                              int real_size, bool last, struct error *error);

/* No work on the device may use it any more. */
void device_blco_free(struct device_blco *b);

#endif
