/* Selecting nonzeros, in their order, in two steps: the selected nonzeros of each tile are counted;
 * the counts become places, and each tile writes its own. A type S of a selection has `__device__
 * bool has(uint64_t i)`, whether nonzero i is selected (also for i beyond the last nonzero), and
 * `__device__ void put(uint64_t i, uint64_t at)`, which writes nonzero i to place `at`. */
#ifndef BLCO_SELECT_CUH
#define BLCO_SELECT_CUH

#include <cub/block/block_scan.cuh>
#include <stdint.h>

#include "kernels/tensor/select.h"

constexpr int SELECT_THREADS = 256;
constexpr int SELECT_ITEMS = SELECT_TILE / SELECT_THREADS;

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
    using scan = cub::BlockScan<int, SELECT_THREADS>;
    __shared__ typename scan::TempStorage shared;
    uint64_t tile = static_cast<uint64_t>(blockIdx.x) * SELECT_TILE, at = begin[blockIdx.x];
    for (int k = 0; k < SELECT_ITEMS; k++) {
        uint64_t i = tile + k * SELECT_THREADS + threadIdx.x;
        int selected = selection.has(i), before, all;
        scan(shared).ExclusiveSum(selected, before, all);
        if (selected)
            selection.put(i, at + before);
        at += all;
        __syncthreads();
    }
}

#endif
