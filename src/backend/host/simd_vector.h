/* Vectors of SIMD_WIDTH entries, for the kernel bodies (host_*_simd_body.h), which include this
 * file after their includer has defined SIMD_WIDTH and, where entries are floats, SIMD_SINGLE.
 *
 * A tile is 1 to 4 vectors side by side. The last vector ends where the tile ends: where the tile's
 * width is no multiple of SIMD_WIDTH, the last vector overlaps the one before it. */
#ifndef BLCO_SIMD_VECTOR_H
#define BLCO_SIMD_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

/* A loop over the vectors of a tile. Where GCC unrolls such a loop late, GCC keeps the arrays that
 * the loop works on in memory. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_VECTOR(v, vectors) _Pragma("GCC unroll 4") for (int v = 0; v < (vectors); v++)
#else
#define EACH_VECTOR(v, vectors) for (int v = 0; v < (vectors); v++)
#endif

#ifdef SIMD_SINGLE
#define ENTRY_BYTES 4
#define IS_SINGLE   true
typedef float entry;
typedef int32_t entry_bits;
#else
#define ENTRY_BYTES 8
#define IS_SINGLE   false
typedef double entry;
typedef int64_t entry_bits;
#endif

#if SIMD_WIDTH == 1 /* compilers keep a vector of one entry in memory */
typedef entry vec __attribute__((may_alias));
#else
typedef entry vec
    __attribute__((vector_size(ENTRY_BYTES * SIMD_WIDTH), aligned(ENTRY_BYTES), may_alias));
typedef entry_bits vec_bits __attribute__((vector_size(ENTRY_BYTES * SIMD_WIDTH)));
#endif

INLINE vec load(const entry *p)
{
    return *(const vec *)p;
}

INLINE void store(entry *p, vec x)
{
    *(vec *)p = x;
}

/* The first column of vector v of a tile whose last vector begins at column `last`. */
INLINE uint64_t column_of(uint64_t last, int v, int vectors)
{
    return v + 1 < vectors ? (uint64_t)v * SIMD_WIDTH : last;
}

#endif
