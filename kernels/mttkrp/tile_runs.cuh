/* Which nonzeros of a chunk a lane group works on, and where it finds a coordinate of one. */
#pragma once

#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"

/* Nonzeros of a run, but for the last ones of the chunk: an even number. */
__host__ __device__ __forceinline__ uint32_t run_length(uint32_t count, uint32_t lane_groups)
{
    return ((count + lane_groups - 1) / lane_groups + 1) & ~1u;
}

template <typename INDEX>
__device__ __forceinline__ uint32_t coordinate(const mttkrp_field &f, INDEX index)
{
    return static_cast<uint32_t>(index >> f.shift) & f.mask;
}
