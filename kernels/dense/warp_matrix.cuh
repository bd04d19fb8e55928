/* A matrix product in double, spread over a warp: one instruction where the device has it,
 * otherwise smaller instructions or shuffles. */
#pragma once

#include <cuda_runtime.h>

/* C (8 x 8) += A (8 x 4) B (4 x 8), spread over a warp; lane = 4 g + q holds A: (g, q), B: (q, g),
 * C: (g, 2q) (g, 2q + 1). */
__device__ __forceinline__ void multiply_8x8x4(double &c0, double &c1, double a, double b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c0), "+d"(c1)
                 : "d"(a), "d"(b));
#else
    const int lane = static_cast<int>(threadIdx.x) % 32, row = lane / 4 * 4, column = lane % 4 * 8;
#pragma unroll 1 /* it stands in many places */
    for (int k = 0; k < 4; k++) {
        const double x = __shfl_sync(~0u, a, row + k);
        c0 = fma(x, __shfl_sync(~0u, b, column + k), c0);
        c1 = fma(x, __shfl_sync(~0u, b, column + 4 + k), c1);
    }
#endif
}

/* C (16 x 8) += A (16 x 8) B (8 x 8), spread over a warp; lane = 4 g + q holds
 *   A: (g, q) (g + 8, q) (g, q + 4) (g + 8, q + 4)    B: (q, g) (q + 4, g)
 *   C: (g, 2q) (g, 2q + 1) (g + 8, 2q) (g + 8, 2q + 1). */
__device__ __forceinline__ void multiply_add(double (&c)[4], double a0, double a1, double a2,
                                             double a3, double b0, double b1)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
#elif __CUDA_ARCH__ >= 800
    multiply_8x8x4(c[0], c[1], a0, b0);
    multiply_8x8x4(c[2], c[3], a1, b0);
    multiply_8x8x4(c[0], c[1], a2, b1);
    multiply_8x8x4(c[2], c[3], a3, b1);
#else
    const int lane = static_cast<int>(threadIdx.x) % 32, row = lane / 4 * 4, column = lane % 4 * 8;
#pragma unroll 1 /* or the compiler takes minutes */
    for (int half = 0; half < 2; half++) {
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            const double low = __shfl_sync(~0u, a0, row + k), high = __shfl_sync(~0u, a1, row + k);
            const double left = __shfl_sync(~0u, b0, column + k);
            const double right = __shfl_sync(~0u, b0, column + 4 + k);
            c[0] = fma(low, left, c[0]);
            c[1] = fma(low, right, c[1]);
            c[2] = fma(high, left, c[2]);
            c[3] = fma(high, right, c[3]);
        }
        a0 = a2;
        a1 = a3;
        b0 = b1;
    }
#endif
}
