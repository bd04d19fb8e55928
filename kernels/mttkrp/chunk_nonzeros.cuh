/* The nonzeros of a chunk: read straight from global memory, or sorted by output row in shared
 * memory. */
#pragma once

#include <stdint.h>

#include <cub/block/block_radix_sort.cuh>

#include "kernels/mttkrp/mttkrp_args.h"
#include "kernels/mttkrp/nonzero_index.cuh"
#include "kernels/mttkrp/row_sums.cuh"

/* In global memory, from the chunk's first nonzero on. */
template <typename T, int GATHERS> struct global_chunk {
    const uint64_t *index[2];
    const void *value; /* of type T, or doubles */
    bool wide;         /* they are doubles      */

    __device__ __forceinline__ global_chunk from(uint64_t i) const
    {
        return {{index[0] + i, index[1] ? index[1] + i : nullptr}, value_from(i), wide};
    }
    __device__ __forceinline__ const void *value_from(uint64_t i) const
    {
        if constexpr (sizeof(T) < sizeof(double))
            if (wide)
                return static_cast<const double *>(value) + i;
        return static_cast<const T *>(value) + i;
    }
    __device__ __forceinline__ index_words<GATHERS> index_at(uint32_t i) const
    {
        index_words<GATHERS> x;
        x.word[0] = __ldg(index[0] + i);
        if constexpr (is_wide<GATHERS>)
            x.word[1] = index[1] ? __ldg(index[1] + i) : 0;
        return x;
    }
    __device__ __forceinline__ T value_at(uint32_t i) const
    {
        if constexpr (sizeof(T) < sizeof(double))
            if (wide)
                return static_cast<T>(__ldg(static_cast<const double *>(value) + i));
        return __ldg(static_cast<const T *>(value) + i);
    }
};

/* In shared memory. */
template <typename T, int GATHERS> struct shared_chunk {
    index_words<GATHERS> *index;
    T *value;

    __device__ __forceinline__ shared_chunk from(uint32_t i) const
    {
        return {index + i, value + i};
    }
    __device__ __forceinline__ index_words<GATHERS> index_at(uint32_t i) const
    {
        return index[i];
    }
    __device__ __forceinline__ T value_at(uint32_t i) const
    {
        return value[i];
    }
};

constexpr int SORT_THREADS = 256;
constexpr int SORT_ITEMS = MTTKRP_SORTED_CHUNK / SORT_THREADS;
using chunk_sort = cub::BlockRadixSort<uint32_t, SORT_THREADS, SORT_ITEMS, uint16_t>;

/* Sorts positions by output row; stable. Item k of thread t receives rank k * SORT_THREADS + t. */
static __device__ __noinline__ void sort_positions(chunk_sort::TempStorage &storage,
                                                   uint32_t (&row)[SORT_ITEMS],
                                                   uint16_t (&position)[SORT_ITEMS], int bits)
{
    chunk_sort(storage).SortBlockedToStriped(row, position, 0, bits);
}

/* Copies a chunk to shared memory, sorted by output row. With position_in, nonzero i of the chunk
 * is nonzero position_in[i] of `from`. */
template <typename T, int GATHERS>
__device__ void sort_by_row(shared_chunk<T, GATHERS> chunk, chunk_sort::TempStorage &storage,
                            const global_chunk<T, GATHERS> &from, const uint32_t *position_in,
                            uint32_t count, const mttkrp_field &output)
{
    __shared__ uint32_t varying; /* bits in which the chunk's rows differ */
    if (threadIdx.x == 0)
        varying = 0;
    auto place = [&](uint32_t i) { return position_in ? __ldg(position_in + i) : i; };
    uint32_t first_row = coordinate<GATHERS>(output, from.index_at(place(0)), 0);
    __syncthreads();

    uint32_t differs = 0;
    for (uint32_t i = threadIdx.x; i < count; i += SORT_THREADS) {
        uint32_t at = place(i);
        chunk.index[i] = from.index_at(at);
        chunk.value[i] = from.value_at(at);
        differs |= coordinate<GATHERS>(output, chunk.index[i], 0) ^ first_row;
    }
    for (int offset = 16; offset; offset /= 2)
        differs |= __shfl_xor_sync(0xffffffffu, differs, offset);
    if (threadIdx.x % 32 == 0 && differs)
        atomicOr(&varying, differs);
    __syncthreads();
    if (varying == 0)
        return;

    uint32_t row[SORT_ITEMS];
    uint16_t position[SORT_ITEMS];
    for (int k = 0; k < SORT_ITEMS; k++) {
        uint32_t i = threadIdx.x * SORT_ITEMS + k;
        position[k] = static_cast<uint16_t>(i);
        row[k] = i < count ? coordinate<GATHERS>(output, chunk.index[i], 0) : NO_ROW;
    }
    sort_positions(storage, row, position, 32 - __clz(varying));

    index_words<GATHERS> index[SORT_ITEMS];
    T value[SORT_ITEMS];
    for (int k = 0; k < SORT_ITEMS; k++)
        if (k * SORT_THREADS + threadIdx.x < count) {
            index[k] = chunk.index[position[k]];
            value[k] = chunk.value[position[k]];
        }
    __syncthreads();
    for (int k = 0; k < SORT_ITEMS; k++)
        if (k * SORT_THREADS + threadIdx.x < count) {
            chunk.index[k * SORT_THREADS + threadIdx.x] = index[k];
            chunk.value[k * SORT_THREADS + threadIdx.x] = value[k];
        }
    __syncthreads();
}
