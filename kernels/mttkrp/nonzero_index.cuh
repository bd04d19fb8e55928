/* The index of a nonzero, and the coordinates in it. */
#pragma once

#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"

constexpr int ANY = -1; /* gathers counted at run time, and indices of two words */

template <int GATHERS> constexpr bool is_wide = GATHERS == ANY;

template <int GATHERS> struct index_words {
    uint64_t word[is_wide<GATHERS> ? 2 : 1];
};

template <int GATHERS>
__device__ __forceinline__ uint32_t coordinate(const mttkrp_field &f, index_words<GATHERS> index,
                                               uint32_t base)
{
    uint64_t word = index.word[0];
    if constexpr (is_wide<GATHERS>)
        word = f.word ? index.word[1] : word;
    return (static_cast<uint32_t>(word >> f.shift) & f.mask) | base;
}
