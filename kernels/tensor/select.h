/* The part of selecting nonzeros (select.cuh) that callers use. Device pointers only; nothing
 * of src/ is known here. */
#ifndef BLCO_SELECT_H
#define BLCO_SELECT_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SELECT_TILE 1024 /* nonzeros that are counted together */

/* count[t] (tiles) = the sum of the counts before it. With temporary NULL only *temporary_bytes is
 * set. Asynchronous; returns the launch's error. */
cudaError_t select_scan(void *temporary, size_t *temporary_bytes, uint64_t *count, uint64_t tiles,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
