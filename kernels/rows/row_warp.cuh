#ifndef BLCO_ROW_WARP_CUH
#define BLCO_ROW_WARP_CUH

#include <stdint.h>

constexpr uint32_t ALL = ~0u; /* lanes */
constexpr int WARP = 32;

/* In all lanes. */
__device__ __forceinline__ double warp_sum(double x)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(ALL, x, step);
    return x;
}

/* 1 / x, where x is not near the limits of its exponent, to a unit in the last place: a few
 * instructions and no call. */
__device__ __forceinline__ double inverse(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    y = fma(fma(-x, y, 1.0), y, y);
    return fma(fma(-x, y, 1.0), y, y);
}

#endif
