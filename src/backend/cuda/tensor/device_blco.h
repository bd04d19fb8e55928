/* The BLCO tensor in device memory: every ordering is encoded and sorted on the device, from
 * nonzeros that were copied there once. */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>

#include "backend/cuda/tensor/device_coo.h"
#include "numerics/precision.h"
#include "tensor/blco.h"

struct device_blco {
    struct shape shape;
    uint64_t nnz;
    struct ordering ordering;
    uint64_t *index[2]; /* (nnz) each; [1] NULL where ordering.words is 1; device, owned     */
    void *value;        /* (nnz), double or float; device, owned                             */
    uint64_t nblocks;
    struct blco_block *block; /* (nblocks), as in struct blco; host, owned */
};

struct device_blco_options {
    int kind, index_bits;     /* as in struct blco_options                             */
    enum precision precision; /* of the values                                         */
    bool last;                /* x's arrays may become b's; x can then only be freed   */
    const struct tile *tile;  /* NULL, or the ordering is tiled, and blocks are tiles  */
    const int *lowest;        /* as in ordering_create_lowest; NULL: -1                */
};

/* Builds the ordering options->kind with the layout, nonzeros and blocks that blco_build gives on
 * the host, unless options->lowest says otherwise. The arrays come from x's pool and are filled
 * when its stream gets there. Device memory beyond the result: at most 32 bytes a nonzero while it
 * runs, which go back to the pool. STATUS_MEMORY where the device has no room; *b is then empty. */
enum status device_blco_build(struct device_blco *b, struct device_coo *x,
                              const struct device_blco_options *options, struct error *error);

/* No work on the device may use it any more. */
void device_blco_free(struct device_blco *b);
