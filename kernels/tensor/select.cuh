/* Selecting nonzeros, in their order, in two steps: the selected nonzeros of each tile are counted;
 * the counts become places, and each tile writes its own. A type S of a selection has `__device__
 * bool has(uint64_t i)`, whether nonzero i is selected (also for i beyond the last nonzero), and
 * `__device__ void put(uint64_t i, uint64_t at)`, which writes nonzero i to place `at`. */
#pragma once

#include <stdint.h>

#include "kernels/tensor/select.h"
#include "numerics/launchers.h"

constexpr int SELECT_THREADS = 256;
constexpr int SELECT_ITEMS = SELECT_TILE / SELECT_THREADS;
constexpr uint32_t SELECT_WARP = 32;
constexpr uint32_t SELECT_WARPS = SELECT_THREADS / SELECT_WARP;

template <typename S>
__global__ void __launch_bounds__(SELECT_THREADS)
    select_count(const __grid_constant__ S selection, uint64_t *__restrict__ count)
{
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * SELECT_TILE;
    int sum = 0;
    for (int k = 0; k < SELECT_ITEMS; k++)
        sum += __syncthreads_count(selection.has(first + k * SELECT_THREADS + threadIdx.x));
    if (threadIdx.x == 0)
        count[blockIdx.x] = static_cast<uint64_t>(sum);
}

template <typename S>
__global__ void __launch_bounds__(SELECT_THREADS)
    select_put(const __grid_constant__ S selection, const uint64_t *__restrict__ begin)
{
    __shared__ uint32_t of_warp[SELECT_WARPS];
    const uint32_t lane = threadIdx.x % SELECT_WARP, warp = threadIdx.x / SELECT_WARP;
    uint64_t tile = static_cast<uint64_t>(blockIdx.x) * SELECT_TILE, at = begin[blockIdx.x];
    for (int k = 0; k < SELECT_ITEMS; k++) {
        uint64_t i = tile + k * SELECT_THREADS + threadIdx.x;
        const bool selected = selection.has(i);
        const uint32_t votes = __ballot_sync(~0u, selected);
        uint32_t before = static_cast<uint32_t>(__popc(votes & ((1u << lane) - 1))), all = 0;
        if (lane == 0)
            of_warp[warp] = static_cast<uint32_t>(__popc(votes));
        __syncthreads();
        for (uint32_t w = 0; w < SELECT_WARPS; w++) {
            before += w < warp ? of_warp[w] : 0;
            all += of_warp[w];
        }
        __syncthreads();
        if (selected)
            selection.put(i, at + before);
        at += all;
    }
}

/* The step of a selection of `nnz` nonzeros that select.h describes. */
template <typename S>
cudaError_t select_step(const S &selection, uint64_t nnz, bool puts, uint64_t *tile,
                        cudaStream_t stream)
{
    const auto blocks = static_cast<unsigned>(select_tiles(nnz));
    return puts ? launch_kernel(select_put<S>, blocks, SELECT_THREADS, stream, selection, tile)
                : launch_kernel(select_count<S>, blocks, SELECT_THREADS, stream, selection, tile);
}
