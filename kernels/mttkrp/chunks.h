/* The chunks into which blocks of nonzeros are cut, and the rows of M that no chunk has or that
 * only one has. Device pointers only. */
#pragma once

#include "kernels/mttkrp/mttkrp_args.h"
#include "numerics/launchers.h"

LAUNCHERS_BEGIN

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

/* Rows of M that an ordered MTTKRP does not store whole are empty rows, and rows with nonzeros in
 * several chunks. They are zeroed before it runs. */

/* marked[r] (rows) = 1 where output row r has no nonzero, or the first or the last nonzero of a
 * chunk, else 0. index, base, chunk and output as in struct mttkrp_args. Asynchronous. */
cudaError_t empty_rows_mark(const struct mttkrp_args *args, uint64_t rows, uint8_t *marked,
                            cudaStream_t stream);

/* Unshared rows of M: one chunk has all nonzeros of such a row and stores it, so the row needs
 * neither atomics nor zeroing. */

/* 32-bit words of a bitmap of `rows` bits. */
#define UNSHARED_ROWS_WORDS(rows) (((uint64_t)(rows) + 31) / 32)

/* Bit r of unshared (UNSHARED_ROWS_WORDS(rows)) = whether exactly one chunk has nonzeros of output
 * row r. index, base, chunk and output as in struct mttkrp_args; `first` (rows) is scratch. The
 * bits also hold for longer chunks that are made of whole chunks of these. Asynchronous. */
cudaError_t unshared_rows_mark(const struct mttkrp_args *args, uint64_t rows, uint32_t *first,
                               uint32_t *unshared, cudaStream_t stream);

/* Sets the other rows of M (rows x vectors * 16 bytes) to zero. Asynchronous. */
cudaError_t unshared_rows_zero_others(void *m, uint32_t vectors, const uint32_t *unshared,
                                      uint64_t rows, cudaStream_t stream);

LAUNCHERS_END
