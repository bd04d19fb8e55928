/* Counter-based random numbers: no state, so any thread or device can compute any of them alone. */
#ifndef BLCO_RANDOM_COUNTER_H
#define BLCO_RANDOM_COUNTER_H

#include <stdint.h>

#include "base/uint128.h"

/* Philox2x64 with 10 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2,
 * 3; SC 2011): two 64-bit words that depend on the seed and on a counter of two words. For one seed
 * distinct counters give distinct pairs. */
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

/* Uniform on [0, 1): the word's upper 53 bits. */
static inline double random_uniform(uint64_t word)
{
    return (double)(word >> 11) * 0x1p-53;
}

#endif
