/* Cuts blocks of nonzeros into chunks. Device pointers only. */
#ifndef BLCO_CHUNKS_H
#define BLCO_CHUNKS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block's first chunk and first nonzero. */
struct chunk_block {
    uint64_t chunk, first;
};

/* chunk (chunks) = the chunks of at most `size` nonzeros into which the blocks are cut, one block
 * after the other. block (blocks + 1) has the beginning of each block, and the end of the
 * last one. Asynchronous; returns the launch's error. */
cudaError_t chunks_list(struct mttkrp_chunk *chunk, uint64_t chunks,
                        const struct chunk_block *block, uint64_t blocks, uint32_t size,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
