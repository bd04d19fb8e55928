/* Counter-based random numbers: random_words computes any of them alone, without state, on any
 * thread or device. random_unit.h turns words into numbers of the unit interval. */
#ifndef BLCO_RANDOM_COUNTER_H
#define BLCO_RANDOM_COUNTER_H

#include <stdint.h>

#include "base/random_unit.h"
#include "base/uint128.h"

/* Philox2x64 with 10 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2,
 * 3; SC 2011): two 64-bit words that depend on the seed and on a counter of two words, `high` and
 * `low`. For one seed distinct counters give distinct pairs. */
static inline void random_words(uint64_t seed, uint64_t high, uint64_t low, uint64_t word[2])
{
    for (int round = 0; round < 10; round++) {
        uint128 product = (uint128)low * UINT64_C(0xD2B74407B1CE6E93);
        low = (uint64_t)(product >> 64) ^ seed ^ high;
        high = (uint64_t)product;
        seed += UINT64_C(0x9E3779B97F4A7C15);
    }
    word[0] = low;
    word[1] = high;
}

#endif
