/* Rows of M that an ordered MTTKRP does not store whole: empty rows, and rows with nonzeros in
 * several chunks. They are zeroed before it runs. Device pointers only. */
#ifndef BLCO_EMPTY_ROWS_H
#define BLCO_EMPTY_ROWS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *bytes = the temporary device memory that empty_rows_list takes. */
cudaError_t empty_rows_temporary(uint64_t rows, size_t *bytes);

/* row (room for `rows`) = the output rows in [0, rows), ascending, that have no nonzero, or the
 * first or the last nonzero of a chunk; *count (host) = how many. index, base, chunk and output as
 * in struct mttkrp_args. temporary (bytes). Synchronous. */
cudaError_t empty_rows_list(const struct mttkrp_args *args, uint64_t rows, uint32_t *row,
                            uint64_t *count, void *temporary, size_t bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
