/* Vectors of SIMD_WIDTH entries of the type SIMD_ENTRY, for the kernels in host_*_simd.c. The
 * Makefile compiles those files once for each SIMD_ENTRY (double or float) and SIMD_WIDTH.
 *
 * A tile is 1 to 4 vectors side by side. The last vector ends where the tile ends: where the tile's
 * width is no multiple of SIMD_WIDTH, the last vector overlaps the one before it. */
#pragma once

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define APART  static __attribute__((noinline)) /* what runs seldom: one copy in a file */

/* A loop over the vectors of a tile. Where GCC unrolls such a loop late, GCC keeps the arrays that
 * the loop works on in memory. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_VECTOR(v, vectors) _Pragma("GCC unroll 4") for (int v = 0; v < (vectors); v++)
#define UNROLLED                _Pragma("GCC unroll 8") /* the loop that follows */
#else
#define EACH_VECTOR(v, vectors) for (int v = 0; v < (vectors); v++)
#define UNROLLED
#endif

/* The name of a function or table of this entry and width: SIMD_NAME(host_x) = host_x_float16. */
#define SIMD_PASTE(name, entry, width)  name##_##entry##width
#define SIMD_EXPAND(name, entry, width) SIMD_PASTE(name, entry, width)
#define SIMD_NAME(name)                 SIMD_EXPAND(name, SIMD_ENTRY, SIMD_WIDTH)

typedef SIMD_ENTRY entry;

#if SIMD_WIDTH == 1 /* compilers keep a vector of one entry in memory */
typedef entry vec __attribute__((may_alias));
#else
typedef entry vec
    __attribute__((vector_size(sizeof(entry) * SIMD_WIDTH), aligned(sizeof(entry)), may_alias));
typedef __typeof__(_Generic((entry)0, float : INT32_C(0), double : INT64_C(0))) entry_bits;
typedef entry_bits vec_bits __attribute__((vector_size(sizeof(entry) * SIMD_WIDTH)));
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
