/* Loads that stay where they are written. The compiler moves other loads after the branches that
 * need them; in a short kernel they would then wait for each other. */
#pragma once

#include <cuda_runtime.h>

/* From global memory. ptxas, too, leaves relaxed loads where they are. */
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
