/* Random bits to real numbers of the unit interval: random_uniform and random_inner, for the words
 * of random_counter.h and of random_stream.h. The same bits on the host and on the device. */
#pragma once

#include <stdint.h>

#include "numerics/common_function.h"

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
