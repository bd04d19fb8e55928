/* Cutting the sorted nonzeros into blocks on the device. */
#ifndef BLCO_DEVICE_BLOCK_FINDER_H
#define BLCO_DEVICE_BLOCK_FINDER_H

#include <cuda_runtime.h>

#include "backend/cuda/tensor/device_coo.h"
#include "tensor/blco.h"

/* Nonzeros in the order of a line: their lines, or else their positions in x. */
struct device_block_finder {
    const struct device_coo *x;
    const uint64_t *line; /* (nnz), device, or NULL          */
    const void *position; /* (nnz), device; device_pairs_position_size */
    uint8_t *flag;        /* (nnz): the first nonzero of a block; device, owned */
    uint64_t *count;      /* (1) device, owned                                  */
};

/* *nblocks = how many blocks o's cut makes. Waits for the pool's stream. STATUS_MEMORY. */
enum status device_block_finder_count(struct device_block_finder *f, const struct ordering *o,
                                      uint64_t *nblocks, struct error *error);

/* *block = the table of the blocks (nblocks), which the caller frees with memory_free; NULL on
 * failure. Call it after device_block_finder_count for the same ordering. Waits for the stream.
 * STATUS_MEMORY. */
enum status device_block_finder_table(struct device_block_finder *f, const struct ordering *o,
                                      uint64_t nblocks, struct blco_block **block,
                                      struct error *error);

/* Hands the arrays back to x's pool; accepts a zeroed one. */
void device_block_finder_close(struct device_block_finder *f);

#endif
