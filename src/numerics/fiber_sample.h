/* How fibers are counted by a sample. The nonzeros of a fiber along a mode agree in all other
 * coordinates. These are hashed; one hash in 2^skipped marks a bit of a map. How many bits are
 * marked says how many fibers there are, about (plan/tile_choice.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "numerics/random_counter.h"

#define FIBER_MAP_BITS  22 /* the map has 2^FIBER_MAP_BITS bits, in words of 64 */
#define FIBER_MAP_WORDS (UINT64_C(1) << (FIBER_MAP_BITS - 6))

/* The hash with one coordinate more; 0 before the first. */
COMMON_FUNCTION uint64_t fiber_hash(uint64_t hash, uint32_t coordinate)
{
    hash = (hash ^ coordinate) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 32;
}

COMMON_FUNCTION bool fiber_is_sampled(uint64_t hash, int skipped)
{
    return (hash & ((UINT64_C(1) << skipped) - 1)) == 0;
}

/* The bit of the map that a sampled hash marks. */
COMMON_FUNCTION uint32_t fiber_bit(uint64_t hash)
{
    return (uint32_t)(hash >> (64 - FIBER_MAP_BITS));
}
