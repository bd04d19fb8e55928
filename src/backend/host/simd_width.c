#include "backend/host/simd_width.h"

static uint64_t limit = 8;

void simd_width_limit(uint64_t simd)
{
    limit = simd ? simd : 8;
}

uint64_t simd_width(uint64_t width, enum precision precision)
{
    uint64_t most = 2; /* doubles, on this processor */
#if SIMD_X86
    if (__builtin_cpu_supports("avx512dq"))
        most = 8;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        most = 4;
#endif
    const uint64_t doubles = most < limit ? most : limit;
    uint64_t simd = doubles * (sizeof(double) / precision_bytes(precision));
    while (simd > width)
        simd /= 2;
    return precision == PRECISION_SINGLE && simd == 2 ? 1 : simd;
}

/* As few tiles as possible, about equally wide, so that none has only a few columns. */
uint64_t simd_tile_width(uint64_t left, enum precision precision)
{
    uint64_t simd = simd_width(left, precision), vectors = (left + simd - 1) / simd;
    uint64_t tiles = (vectors + SIMD_TILE_VECTORS - 1) / SIMD_TILE_VECTORS;
    return tiles == 1 ? left : (vectors + tiles - 1) / tiles * simd;
}
