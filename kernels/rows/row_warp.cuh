/* What kernels of rows have in common: reductions over a warp, inverses, totals, joins, the
 * thread blocks of a device. */
#pragma once

#include <cuda_runtime.h>
#include <float.h>
#include <stdint.h>

#include "kernels/rows/row_args.h"
#include "numerics/launchers.h"

constexpr uint32_t ALL = ~0u; /* lanes */
constexpr int WARP = 32;

/* The lane of a thread, the warp of one, in a thread block of so many warps. */
template <int WARPS> __device__ __forceinline__ uint32_t lane_of_thread()
{
    return WARPS > 1 ? threadIdx.x % WARP : threadIdx.x;
}
template <int WARPS> __device__ __forceinline__ int warp_of_thread()
{
    return WARPS > 1 ? static_cast<int>(threadIdx.x) / WARP : 0;
}

/* The compiler does not know any more how x was computed. */
template <typename X> __device__ __forceinline__ void take_as_new([[maybe_unused]] X &x)
{
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(X) == sizeof(uint64_t))
        asm volatile("" : "+l"(x));
    else
        asm volatile("" : "+r"(x));
#endif
}

/* The threads of a thread block wait for each other. */
template <int WARPS> __device__ __forceinline__ void sync_warps()
{
    if constexpr (WARPS > 1)
        __syncthreads();
    else
        __syncwarp();
}

/* x of lane `from` among `width` lanes. The compiler finds a register pair for the result; where
 * __shfl_sync moves a double, it often has to swap the two. */
__device__ __forceinline__ double moved(double x, int from, int width = WARP)
{
    const int low = __shfl_sync(ALL, __double2loint(x), from, width);
    const int high = __shfl_sync(ALL, __double2hiint(x), from, width);
    return __hiloint2double(high, low);
}

/* In all lanes. */
__device__ __forceinline__ double warp_sum(double x)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(ALL, x, step);
    return x;
}

template <typename X> __device__ __forceinline__ X warp_max(X x)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        x = max(x, __shfl_xor_sync(ALL, x, step));
    return x;
}

/* The dynamic shared memory of a thread block. */
__device__ __forceinline__ unsigned char *block_memory()
{
#ifdef __CUDACC__
    extern __shared__ __align__(16) unsigned char shared_bytes[];
#else
    extern unsigned char shared_bytes[];
#endif
    return shared_bytes;
}

/* 1 / x; 0 where x is not above 0, or so little that 1 / x may be infinite. */
__device__ __forceinline__ double inverse_or_zero(double x)
{
    return x >= DBL_MIN ? 1 / x : 0;
}

__device__ __forceinline__ void add_totals(row_totals &sum, const row_totals &x)
{
    sum.misfit += x.misfit;
    sum.size += x.size;
    sum.penalty += x.penalty;
    sum.violation = fmax(sum.violation, x.violation);
    sum.model += x.model;
}

/* Join i. */
__device__ __forceinline__ row_join join_at(const row_systems_args &a, uint32_t i)
{
    return a.join ? a.join[i] : row_join{a.sent.first + i, i, 0};
}

using row_kernel = void(row_systems_args);

/* Launches thread blocks that take chunks or joins, `work` of them, by args.room.next: as many as
 * run at once. */
inline cudaError_t launch_takers(row_kernel *kernel, int threads, uint32_t bytes, uint32_t work,
                                 const row_systems_args &args, cudaStream_t stream)
{
    void *list[] = {const_cast<row_systems_args *>(&args)};
    uint32_t blocks;
    CUDA_TRY(resident_blocks(kernel, threads, bytes, &blocks));
    CUDA_TRY(cudaMemsetAsync(args.room.next, 0, sizeof *args.room.next, stream));
    return cudaLaunchKernel(kernel, dim3(min(blocks, work)), dim3(threads), list, bytes, stream);
}
