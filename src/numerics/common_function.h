/* For code that is to give the same bits on the host and on the device: what marks its functions,
 * and products that no compiler fuses with a later sum. */
#pragma once

#ifdef __CUDACC__
#define COMMON_FUNCTION static __host__ __device__ __forceinline__
#else
#define COMMON_FUNCTION static inline
#endif

/* a b, rounded by itself. */
COMMON_FUNCTION double rounded_product(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}
