/* The SIMD width, entries in a vector: the Makefile compiles kernels (host_*_simd.c) once for each,
 * and the largest that this processor has and a tile of columns fills is used. A vector has twice
 * as many floats as doubles. */
#pragma once

#include <stdint.h>

#include "numerics/precision.h"

/* Whether there are kernels for vectors of x86 with 32 and 64 bytes (SIMD_X86 in the Makefile). */
#ifdef __x86_64__
#define SIMD_X86 1
#else
#define SIMD_X86 0
#endif

/* The table or function of a name for vectors of 8, 4 or 2 doubles, whichever is the most of these
 * that `simd` is not below: SIMD_DOUBLES(host_rows, 4) = host_rows_double4. */
#if SIMD_X86
#define SIMD_DOUBLES(name, simd)                                                                   \
    ((simd) >= 8 ? &name##_double8 : (simd) >= 4 ? &name##_double4 : &name##_double2)
#else
#define SIMD_DOUBLES(name, simd) ((void)(simd), &name##_double2)
#endif

/* Vectors of a tile, at most. */
#define SIMD_TILE_VECTORS 4

/* The largest SIMD width that a tile of `width` columns fills: 8, 4, 2 or 1 doubles; 16, 8, 4 or 1
 * floats. */
uint64_t simd_width(uint64_t width, enum precision precision);

/* Columns of the next tile where `left` columns remain. */
uint64_t simd_tile_width(uint64_t left, enum precision precision);

/* Tests only: from now on no SIMD width above `simd` doubles (8, 4 or 2), or twice as many floats;
 * 0: no limit. Not thread-safe. */
void simd_width_limit(uint64_t simd);
