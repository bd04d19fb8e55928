/* Arithmetic of whole numbers. */
#pragma once

#include <stdint.h>

static inline uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Where part k begins if n things are cut into `parts` parts as evenly as possible: part k has the
 * things even_cut(n, k, parts) to even_cut(n, k + 1, parts) - 1. */
static inline uint64_t even_cut(uint64_t n, int k, int parts)
{
    const uint64_t part = (uint64_t)k, all = (uint64_t)parts;
    return n / all * part + n % all * part / all;
}
