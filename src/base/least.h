/* The lesser of two numbers. */
#ifndef BLCO_LEAST_H
#define BLCO_LEAST_H

#include <stdint.h>

static inline uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
