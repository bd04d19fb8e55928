/* A matrix product in double, spread over a warp: one instruction where the device has it,
 * otherwise smaller instructions or shuffles. */
#ifndef BLCO_WARP_MATRIX_CUH
#define BLCO_WARP_MATRIX_CUH

#include <cuda_runtime.h>

/* C (16 x 8) += A (16 x 8) B (8 x 8), spread over a warp; lane = 4 g + q holds
 *   A: (g, q) (g + 8, q) (g, q + 4) (g + 8, q + 4)    B: (q, g) (q + 4, g)
 *   C: (g, 2q) (g, 2q + 1) (g + 8, 2q) (g + 8, 2q + 1). */
#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ void multiply_add(double (&c)[4], double a0, double a1, double a2,
                                             double a3, double b0, double b1)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
}

#else

/* The same for 8 x 4 times 4 x 8: A: (g, q)    B: (q, g)    C: (g, 2q) (g, 2q + 1). */
__device__ __forceinline__ void multiply_add_844(double &c0, double &c1, double a, double b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c0), "+d"(c1)
                 : "d"(a), "d"(b));
#else
    const int lane = (int)threadIdx.x % 32, g = lane / 4, q = lane % 4;
#pragma unroll 1 /* or the compiler takes minutes */
    for (int k = 0; k < 4; k++) {
        const double x = __shfl_sync(0xffffffffu, a, 4 * g + k);
        c0 += x * __shfl_sync(0xffffffffu, b, 4 * (2 * q) + k);
        c1 += x * __shfl_sync(0xffffffffu, b, 4 * (2 * q + 1) + k);
    }
#endif
}

__device__ __forceinline__ void multiply_add(double (&c)[4], double a0, double a1, double a2,
                                             double a3, double b0, double b1)
{
    multiply_add_844(c[0], c[1], a0, b0);
    multiply_add_844(c[2], c[3], a1, b0);
    multiply_add_844(c[0], c[1], a2, b1);
    multiply_add_844(c[2], c[3], a3, b1);
}

#endif

#endif
