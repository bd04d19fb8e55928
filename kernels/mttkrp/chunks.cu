#include "kernels/mttkrp/chunks.h"

#include "kernels/mttkrp/output_row.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr uint32_t NO_CHUNK = UINT32_MAX;

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

__global__ void clear_rows_with_nonzeros(const __grid_constant__ mttkrp_args a, uint8_t *wanted)
{
    const mttkrp_chunk c = a.chunk[blockIdx.x];
    uint32_t base = output_base(a, c);
    for (uint32_t i = threadIdx.x; i < c.count; i += THREADS)
        wanted[output_row(a, c.first + i, base)] = 0;
}

__global__ void mark_rows_at_ends(const __grid_constant__ mttkrp_args a, uint8_t *wanted)
{
    uint64_t k = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (k >= a.chunks)
        return;
    const mttkrp_chunk c = a.chunk[k];
    uint32_t base = output_base(a, c);
    wanted[output_row(a, c.first, base)] = 1;
    wanted[output_row(a, c.first + c.count - 1, base)] = 1;
}

/* first[r] = a chunk with row r; the row loses its bit if another chunk has it, too. */
__global__ void find_chunks(const __grid_constant__ mttkrp_args a, uint32_t *first,
                            uint32_t *unshared)
{
    const mttkrp_chunk c = a.chunk[blockIdx.x];
    uint32_t base = output_base(a, c);
    for (uint32_t i = threadIdx.x; i < c.count; i += THREADS) {
        uint32_t row = output_row(a, c.first + i, base);
        uint32_t other = atomicCAS(&first[row], NO_CHUNK, blockIdx.x);
        if (other != NO_CHUNK && other != blockIdx.x)
            atomicAnd(&unshared[row / 32], ~(1u << row % 32));
    }
}

__global__ void clear_empty_rows(const uint32_t *first, uint64_t rows, uint32_t *unshared)
{
    uint64_t row = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    bool present = row < rows && first[row] != NO_CHUNK;
    uint32_t word = __ballot_sync(0xffffffffu, present);
    if (row < rows && row % 32 == 0)
        unshared[row / 32] &= word;
}

__global__ void zero_others(uint4 *m, uint32_t vectors, const uint32_t *unshared, uint64_t rows)
{
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    uint64_t row = i / vectors;
    if (row < rows && !(unshared[row / 32] >> row % 32 & 1))
        m[i] = make_uint4(0, 0, 0, 0);
}

} // namespace

cudaError_t chunks_list(mttkrp_chunk *chunk, uint64_t chunks, const chunk_block *block,
                        uint64_t blocks, uint32_t size, cudaStream_t stream)
{
    return launch_kernel(list_chunks, thread_blocks(chunks, THREADS), THREADS, stream, chunk,
                         chunks, block, blocks, size);
}

cudaError_t empty_rows_mark(const mttkrp_args *args, uint64_t rows, uint8_t *marked,
                            cudaStream_t stream)
{
    CUDA_TRY(cudaMemsetAsync(marked, 1, rows, stream));
    CUDA_TRY(launch_kernel(clear_rows_with_nonzeros, static_cast<unsigned>(args->chunks), THREADS,
                           stream, *args, marked));
    return launch_kernel(mark_rows_at_ends, thread_blocks(args->chunks, THREADS), THREADS, stream,
                         *args, marked);
}

cudaError_t unshared_rows_mark(const mttkrp_args *args, uint64_t rows, uint32_t *first,
                               uint32_t *unshared, cudaStream_t stream)
{
    CUDA_TRY(cudaMemsetAsync(first, 0xff, rows * sizeof *first, stream));
    CUDA_TRY(cudaMemsetAsync(unshared, 0xff, UNSHARED_ROWS_WORDS(rows) * sizeof *unshared, stream));
    CUDA_TRY(launch_kernel(find_chunks, static_cast<unsigned>(args->chunks), THREADS, stream, *args,
                           first, unshared));
    return launch_kernel(clear_empty_rows, thread_blocks(rows, THREADS), THREADS, stream, first,
                         rows, unshared);
}

cudaError_t unshared_rows_zero_others(void *m, uint32_t vectors, const uint32_t *unshared,
                                      uint64_t rows, cudaStream_t stream)
{
    return launch_kernel(zero_others, thread_blocks(rows * vectors, THREADS), THREADS, stream,
                         static_cast<uint4 *>(m), vectors, unshared, rows);
}
