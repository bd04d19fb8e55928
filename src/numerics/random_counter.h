/* Counter-based random numbers: random_words computes any of them alone, without state, on any
 * thread or device; and random bits, of these words or of random_stream.h, to real numbers of the
 * unit interval. The same bits on the host and on the device. */
#pragma once

#include <stdint.h>

#include "numerics/common_function.h"

/* a b, in two words. */
COMMON_FUNCTION void random_product(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
#ifdef __CUDA_ARCH__
    *high = __umul64hi(a, b);
    *low = a * b;
#else
    __extension__ typedef unsigned __int128 wide; /* ISO C has none, GCC and Clang do */
    const wide product = (wide)a * b;
    *high = (uint64_t)(product >> 64);
    *low = (uint64_t)product;
#endif
}

/* Philox2x64 with 10 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2,
 * 3; SC 2011): two 64-bit words that depend on the seed and on a counter of two words, `high` and
 * `low`. For one seed distinct counters give distinct pairs. */
COMMON_FUNCTION void random_words(uint64_t seed, uint64_t high, uint64_t low, uint64_t word[2])
{
    for (int round = 0; round < 10; round++) {
        uint64_t above, below;
        random_product(low, UINT64_C(0xD2B74407B1CE6E93), &above, &below);
        low = above ^ seed ^ high;
        high = below;
        seed += UINT64_C(0x9E3779B97F4A7C15);
    }
    word[0] = low;
    word[1] = high;
}

/* The words of columns 2 `pair` and 2 `pair` + 1 in row `row` of mode n of a random model
 * (ktensor_randomise). */
COMMON_FUNCTION void random_model_words(uint64_t seed, int n, uint64_t pair, uint64_t row,
                                        uint64_t word[2])
{
    random_words(seed, (uint64_t)n << 56 | pair, row, word);
}

/* Uniform on [0, 1): the upper 53 bits. */
COMMON_FUNCTION double random_uniform(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Uniform on (0, 1), for logarithms: the upper 52 bits and a half. */
COMMON_FUNCTION double random_inner(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}
