/* A factor matrix of floats as one of doubles. Device pointers only; asynchronous; the launch's
 * error is returned. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* to (rows x to_ld) = the columns 0 to rank - 1 of from (rows x from_ld), then zeros. The arrays do
 * not overlap. */
cudaError_t dense_widen_rows(const float *from, uint64_t from_ld, double *to, uint64_t to_ld,
                             uint64_t rows, uint64_t rank, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
