/* The row of M to which a nonzero contributes. */
#pragma once

#include "kernels/mttkrp/mttkrp_args.h"

__device__ inline uint32_t output_row(const mttkrp_args &a, uint64_t i, uint32_t base)
{
    uint64_t word = a.index[a.output.word][i];
    return (static_cast<uint32_t>(word >> a.output.shift) & a.output.mask) | base;
}

/* The base of the rows of a chunk's nonzeros. */
__device__ inline uint32_t output_base(const mttkrp_args &a, const mttkrp_chunk &c)
{
    return a.base ? a.base[static_cast<uint64_t>(c.block) * MAX_ORDER + a.output.mode] : 0;
}
