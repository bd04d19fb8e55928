/* Unshared rows of M: one chunk has all nonzeros of such a row and stores it, so the row needs
 * neither atomics nor zeroing. Device pointers only. */
#ifndef BLCO_UNSHARED_ROWS_H
#define BLCO_UNSHARED_ROWS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
