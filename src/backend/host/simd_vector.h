/* Vectors of SIMD_WIDTH doubles, for the kernel bodies (host_*_simd_body.h), which include this
 * file after their includer has defined SIMD_WIDTH.
 *
 * A tile is 1 to 4 vectors side by side. The last vector ends where the tile ends: where the tile's
 * width is no multiple of SIMD_WIDTH, the last vector overlaps the one before it. */
#ifndef BLCO_SIMD_VECTOR_H
#define BLCO_SIMD_VECTOR_H

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

typedef double vec __attribute__((vector_size(8 * SIMD_WIDTH), aligned(8), may_alias));
typedef int64_t vec_bits __attribute__((vector_size(8 * SIMD_WIDTH)));

INLINE vec load(const double *p)
{
    return *(const vec *)p;
}

INLINE void store(double *p, vec x)
{
    *(vec *)p = x;
}

/* The first column of vector v of a tile whose last vector begins at column `last`. */
INLINE uint64_t column_of(uint64_t last, int v, int vectors)
{
    return v + 1 < vectors ? (uint64_t)v * SIMD_WIDTH : last;
}

#endif
