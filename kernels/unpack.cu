/* A warp decodes a run of consecutive nonzeros of one segment. It finds the block of the first one
 * in the segment's table, and goes on from block to block: its lanes read neighbouring bytes and
 * write neighbouring words. */
#include "unpack.h"

#include <algorithm>

namespace
{

constexpr uint32_t WARP = 32;
constexpr uint32_t THREADS = 256;
constexpr uint32_t RUN = 256;                     /* nonzeros of a warp         */
constexpr uint32_t PART = RUN * (THREADS / WARP); /* nonzeros of a thread block */

/* The last of nblocks blocks that begins at nonzero i or before; the first one does. All lanes look
 * at once, so that few steps wait for memory. */
__device__ uint32_t find_block(const uint8_t *table, uint32_t stride, uint32_t nblocks, uint32_t i)
{
    uint32_t low = 0, end = nblocks, lane = threadIdx.x % WARP;
    while (end - low > 1) {
        uint32_t step = (end - low + WARP - 1) / WARP;
        uint64_t probe = low + static_cast<uint64_t>(lane) * step;
        bool before = probe < end &&
                      reinterpret_cast<const packed_block *>(table + probe * stride)->first <= i;
        uint32_t count = __popc(__ballot_sync(0xffffffffu, before));
        low += (max(count, 1u) - 1) * step;
        end = min(low + step, end);
    }
    return low;
}

template <typename T> __global__ void unpack(const __grid_constant__ unpack_args a)
{
    uint32_t parts = (a.segment_nnz + PART - 1) / PART;
    uint64_t number = blockIdx.x / parts, start = number * a.segment_nnz;
    uint32_t count =
        static_cast<uint32_t>(min(static_cast<uint64_t>(a.segment_nnz), a.nnz - start));
    uint32_t lane = threadIdx.x % WARP;
    uint32_t i = blockIdx.x % parts * PART + threadIdx.x / WARP * RUN;
    uint32_t end = min(i + RUN, count);
    if (i >= end)
        return;

    const unpack_segment segment = a.segment[number];
    const uint8_t *bytes = a.bytes + (segment.offset - a.offset);
    T *value = static_cast<T *>(a.value) + start;
    int beyond = 0;
    for (uint32_t k = find_block(bytes, a.layout.stride, segment.nblocks, i);
         i < end && k < segment.nblocks; k++) {
        const uint8_t *entry = bytes + static_cast<uint64_t>(k) * a.layout.stride;
        const packed_block b = *reinterpret_cast<const packed_block *>(entry);
        uint32_t stop = min(b.first + b.count, end);
#pragma unroll 2
        for (uint32_t j = i + lane; j < stop; j += WARP) {
            uint64_t word[PACKED_WORDS];
            int mode =
                packed_coordinates(&a.layout, entry, packed_index(bytes, b, j - b.first), word);
            beyond = mode ? mode : beyond;
            a.index[0][start + j] = word[0];
            if (a.layout.words > 1)
                a.index[1][start + j] = word[1];
            value[j] = static_cast<T>(packed_value(bytes, b, j - b.first));
        }
        i = stop;
    }
    if (beyond)
        atomicMax(a.damaged, beyond);
}

} // namespace

extern "C" cudaError_t unpack_launch(const unpack_args *args, cudaStream_t stream)
{
    if (args->nnz == 0)
        return cudaSuccess;
    uint64_t parts = (static_cast<uint64_t>(args->segment_nnz) + PART - 1) / PART;
    uint64_t segments = (args->nnz + args->segment_nnz - 1) / args->segment_nnz;
    unsigned blocks = static_cast<unsigned>(parts * segments);
    if (args->single)
        unpack<float><<<blocks, THREADS, 0, stream>>>(*args);
    else
        unpack<double><<<blocks, THREADS, 0, stream>>>(*args);
    return cudaGetLastError();
}
