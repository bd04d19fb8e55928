/* Rows of an output that an ordered MTTKRP does not store whole: the empty ones, and those that
 * chunks may share. They are zeroed before it runs. Device pointers only. */
#ifndef BLCO_EMPTY_ROWS_H
#define BLCO_EMPTY_ROWS_H

#include "kernels/mttkrp/mttkrp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of device memory that empty_rows_list needs beside `row`. */
cudaError_t empty_rows_temporary(uint64_t rows, size_t *bytes);

/* Lists in row (room for `rows`, ascending) the output rows in [0, rows) that no nonzero has, or
 * that the first or the last nonzero of a chunk has; *count (host) receives how many. index, base,
 * chunk and output as in struct mttkrp_args. Synchronous. */
cudaError_t empty_rows_list(const struct mttkrp_args *args, uint64_t rows, uint32_t *row,
                            uint64_t *count, void *workspace, size_t bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
