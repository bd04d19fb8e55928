/* Numbers in the memory of several GPUs, which one of them reads. Device pointers only;
 * asynchronous; the launch's error is returned. */
#pragma once

#include <stdbool.h>

#include "numerics/launchers.h"

#define PEERS_MOST 16 /* GPUs */

LAUNCHERS_BEGIN

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

LAUNCHERS_END
