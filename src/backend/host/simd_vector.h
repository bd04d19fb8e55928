/* Vectors of SIMD_WIDTH doubles, and tiles of 1 to 4 of them that lie side by side but for the
 * last, which ends where the tile does: where the tile's width is no multiple of SIMD_WIDTH, it
 * overlaps the one before it. For the files that define SIMD_WIDTH (simd_width.h). */
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
