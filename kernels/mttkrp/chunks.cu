#include "kernels/mttkrp/chunks.h"

#include "numerics/thread_blocks.cuh"

namespace
{

constexpr int THREADS = 256;

__global__ void list_chunks(mttkrp_chunk *chunk, uint64_t chunks, const chunk_block *block,
                            uint64_t blocks, uint32_t size)
{
    uint64_t c = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (c >= chunks)
        return;
    uint64_t k = 0, high = blocks; /* the last block that begins at chunk c or before */
    while (high - k > 1) {
        uint64_t middle = k + (high - k) / 2;
        *(block[middle].chunk <= c ? &k : &high) = middle;
    }
    uint64_t first = block[k].first + (c - block[k].chunk) * size;
    uint64_t left = block[k + 1].first - first;
    chunk[c] = {first, left < size ? static_cast<uint32_t>(left) : size, static_cast<uint32_t>(k)};
}

} // namespace

extern "C" cudaError_t chunks_list(mttkrp_chunk *chunk, uint64_t chunks, const chunk_block *block,
                                   uint64_t blocks, uint32_t size, cudaStream_t stream)
{
    if (chunks == 0)
        return cudaSuccess;
    list_chunks<<<thread_blocks(chunks, THREADS), THREADS, 0, stream>>>(chunk, chunks, block,
                                                                        blocks, size);
    return cudaGetLastError();
}
