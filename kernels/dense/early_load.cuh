/* Loads that stand where they are written. The compiler moves other loads behind the branches that
 * need what they bring; in a kernel that has little to do they would then wait for each other. */
#ifndef BLCO_EARLY_LOAD_CUH
#define BLCO_EARLY_LOAD_CUH

#include <cuda_runtime.h>

/* Of global memory. Relaxed loads are those that ptxas leaves in their place, too. */
static __device__ __forceinline__ double early_load(const double *from)
{
    double x;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(x) : "l"(from));
    return x;
}

static __device__ __forceinline__ int early_load(const int *from)
{
    int x;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(from));
    return x;
}

#endif
