/* Numbers in the memory of several GPUs, which one of them reads. Device pointers only;
 * asynchronous; the launch's error is returned. */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>

#include "numerics/precision.h"

#define PEERS_MOST 16 /* GPUs */

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of `count` numbers, one of each GPU, in the order in which they are added. */
struct peer_arrays {
    const void *from[PEERS_MOST];
    int peers;
    uint64_t count;
    enum precision precision;
};

/* to[0..count) = the sums of the arrays' numbers, or the largest of them; `to` may be one of the
 * arrays. */
cudaError_t peers_sum(const struct peer_arrays *arrays, void *to, bool largest,
                      cudaStream_t stream);

/* to (peers x count) = the arrays; one that is in its place already is left. */
cudaError_t peers_gather(const struct peer_arrays *arrays, void *to, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
