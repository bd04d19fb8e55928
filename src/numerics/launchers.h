/* What headers of kernels begin with: CUDA's types, and names of launchers that C calls. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#include "numerics/max_order.h"
#include "numerics/precision.h"

#ifdef __cplusplus
#define LAUNCHERS_BEGIN extern "C" {
#define LAUNCHERS_END   }
#else
#define LAUNCHERS_BEGIN
#define LAUNCHERS_END
#endif

/* Ends the calling function, which returns CUDA's result, where a call fails. */
#define CUDA_TRY(call)                                                                             \
    do {                                                                                           \
        const cudaError_t result = (call);                                                         \
        if (result != cudaSuccess)                                                                 \
            return result;                                                                         \
    } while (0)

#ifdef __cplusplus

/* *blocks = the thread blocks of a kernel that run at once on the present device, with so many
 * bytes of dynamic shared memory, which the kernel is allowed from now on. */
template <typename Kernel>
cudaError_t resident_blocks(Kernel *kernel, int threads, size_t shared, uint32_t *blocks)
{
    int device, processors, resident;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CUDA_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared));
    *blocks = (uint32_t)processors * (uint32_t)(resident > 0 ? resident : 1);
    return cudaSuccess;
}

#endif

#ifdef __CUDACC__

/* The instance of a template for entries of this precision. */
#define IN_PRECISION(precision, template)                                                          \
    ((precision) == PRECISION_SINGLE ? template <float> : template <double>)

/* As many thread blocks as `items` take at `per_block` items each; at most `most`, for kernels
 * whose threads go on to further items. */
inline unsigned thread_blocks(uint64_t items, uint64_t per_block, uint64_t most = UINT64_MAX)
{
    const uint64_t blocks = (items + per_block - 1) / per_block;
    return static_cast<unsigned>(blocks < most ? blocks : most);
}

/* Launches the kernel, unless it has no thread blocks. Returns the launch's error. */
template <typename Kernel, typename... Arguments>
cudaError_t launch_kernel(Kernel kernel, dim3 blocks, dim3 threads, cudaStream_t stream,
                          const Arguments &...arguments)
{
    if (blocks.x == 0)
        return cudaSuccess;
    kernel<<<blocks, threads, 0, stream>>>(arguments...);
    return cudaGetLastError();
}

#endif
