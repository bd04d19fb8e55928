/* Vectors of doubles on the host: kernels are compiled once per length (files *_simdL*.c), and the
 * longest that this processor has and a tile of columns fills is taken. */
#ifndef BLCO_SIMD_WIDTH_H
#define BLCO_SIMD_WIDTH_H

#include <stdint.h>

/* Where kernels for x86's longer vectors are compiled: by function attributes that GCC has. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SIMD_X86 1
#else
#define SIMD_X86 0
#endif

/* Vectors of a tile, at the most. */
#define SIMD_TILE_VECTORS 4

/* Doubles in the longest vectors that a tile of `width` columns fills: 8, 4, 2 or 1. */
uint64_t simd_width(uint64_t width);

/* Columns of the next tile where `left` columns remain. */
uint64_t simd_tile_width(uint64_t left);

/* Tests only: goes on as if the processor's longest vectors had this many doubles (8, 4 or 2), or,
 * after 0, as it is. */
void simd_width_limit(uint64_t simd);

#endif
