/* In place of CUDA's header, for kernels that run on the host (lanes.h): as much of it as these
 * need. "Device memory" is that of the host. */
#pragma once

#include <stddef.h>

typedef void *cudaStream_t;
typedef enum cudaError { cudaSuccess, cudaErrorLaunchFailure } cudaError_t;

#ifdef __cplusplus

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/on_host/lanes.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __shared__      static
#define __forceinline__ inline
#define __noinline__    __attribute__((noinline))
#define __align__(n)    __attribute__((aligned(n)))
#define __launch_bounds__(...)

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

inline double2 make_double2(double x, double y)
{
    return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

template <typename A, typename B> constexpr std::common_type_t<A, B> max(A a, B b)
{
    using common = std::common_type_t<A, B>;
    return static_cast<common>(a) < static_cast<common>(b) ? static_cast<common>(b)
                                                           : static_cast<common>(a);
}
template <typename A, typename B> constexpr std::common_type_t<A, B> min(A a, B b)
{
    using common = std::common_type_t<A, B>;
    return static_cast<common>(b) < static_cast<common>(a) ? static_cast<common>(b)
                                                           : static_cast<common>(a);
}

inline double rsqrt(double x)
{
    return 1 / sqrt(x);
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}

inline int __double2hiint(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return static_cast<int>(bits >> 32);
}
inline int __double2loint(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return static_cast<int>(bits);
}
inline double __hiloint2double(int high, int low)
{
    const uint64_t bits = static_cast<uint64_t>(high) << 32 | static_cast<uint32_t>(low);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <typename X> X __ldg(const X *from)
{
    return *from;
}
template <typename X> X __ldcg(const X *from)
{
    return *from;
}
template <typename X> void __stcs(X *to, X x)
{
    *to = x;
}

/* Another thread block goes on after it: these share the work that is counted so. */
template <typename X> X atomicAdd(X *to, std::common_type_t<X> x)
{
    const X before = *to;
    *to = before + x;
    lanes_give_way();
    return before;
}

#define LANE_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* x of lane from(lane), if that is in the lane's part of `width` lanes; else the lane's own. */
template <typename X, typename F>
X lanes_move(const lane_place &place, uint32_t mask, X x, int width, F &&from)
{
    static_assert(sizeof(X) <= sizeof(uint64_t), "a word");
    const int lane = static_cast<int>(threadIdx.x % LANES_OF_WARP), begin = lane / width * width;
    uint64_t word = 0;
    memcpy(&word, &x, sizeof x);
    const uint64_t *all = lanes_meet(place, mask, word);
    const int source = from(lane, begin);
    if (source >= begin && source < begin + width)
        memcpy(&x, &all[source], sizeof x);
    return x;
}

template <typename X> X __shfl_sync(uint32_t mask, X x, int from, int width = 32, LANE_PLACE)
{
    return lanes_move({"__shfl_sync", file, line}, mask, x, width,
                      [&](int, int begin) { return begin + (from & (width - 1)); });
}
template <typename X> X __shfl_up_sync(uint32_t mask, X x, unsigned by, int width = 32, LANE_PLACE)
{
    return lanes_move({"__shfl_up_sync", file, line}, mask, x, width,
                      [&](int lane, int) { return lane - static_cast<int>(by); });
}
template <typename X>
X __shfl_down_sync(uint32_t mask, X x, unsigned by, int width = 32, LANE_PLACE)
{
    return lanes_move({"__shfl_down_sync", file, line}, mask, x, width,
                      [&](int lane, int) { return lane + static_cast<int>(by); });
}
template <typename X> X __shfl_xor_sync(uint32_t mask, X x, int by, int width = 32, LANE_PLACE)
{
    return lanes_move({"__shfl_xor_sync", file, line}, mask, x, width,
                      [&](int lane, int) { return lane ^ by; });
}

inline uint32_t lanes_that(const lane_place &place, uint32_t mask, bool x)
{
    const uint64_t *all = lanes_meet(place, mask, x);
    uint32_t bits = 0;
    for (unsigned l = 0; l < LANES_OF_WARP; l++)
        bits |= static_cast<uint32_t>(all[l]) << l;
    return bits;
}
inline uint32_t __ballot_sync(uint32_t mask, bool x, LANE_PLACE)
{
    return lanes_that({"__ballot_sync", file, line}, mask, x);
}
inline bool __any_sync(uint32_t mask, bool x, LANE_PLACE)
{
    return lanes_that({"__any_sync", file, line}, mask, x) != 0;
}
inline bool __all_sync(uint32_t mask, bool x, LANE_PLACE)
{
    return lanes_that({"__all_sync", file, line}, mask, x) == ~0u;
}
inline void __syncwarp(uint32_t mask = ~0u, LANE_PLACE)
{
    lanes_meet({"__syncwarp", file, line}, mask, 0);
}
inline void __syncthreads(LANE_PLACE)
{
    lanes_meet_in_block({"__syncthreads", file, line});
}

/* Two processors of two thread blocks each: fewer than there are chunks. */
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };

inline cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    *value = 2;
    return cudaSuccess;
}
template <typename F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F *, int, size_t)
{
    *blocks = 2;
    return cudaSuccess;
}
template <typename F> cudaError_t cudaFuncSetAttribute(F *, cudaFuncAttribute, int)
{
    return cudaSuccess;
}

inline cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t)
{
    memset(to, byte, bytes);
    return cudaSuccess;
}

template <typename... A> struct lanes_call {
    void (*kernel)(A...);
    void **list;

    template <size_t... I> void run(std::index_sequence<I...>) const
    {
        kernel(*static_cast<std::remove_const_t<A> *>(list[I])...);
    }
    static void run_thread(const void *call)
    {
        static_cast<const lanes_call *>(call)->run(std::index_sequence_for<A...>{});
    }
};

template <typename... A>
cudaError_t cudaLaunchKernel(void (*kernel)(A...), dim3 grid, dim3 block, void **list,
                             size_t shared_bytes, cudaStream_t)
{
    const lanes_call<A...> call = {kernel, list};
    const lanes_launch launch = {grid, block, shared_bytes, lanes_call<A...>::run_thread, &call};
    return lanes_run(launch) ? cudaSuccess : cudaErrorLaunchFailure;
}

#endif
