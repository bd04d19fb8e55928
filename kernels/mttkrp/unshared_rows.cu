#include "kernels/mttkrp/unshared_rows.h"

#include "kernels/mttkrp/output_row.cuh"
#include "numerics/thread_blocks.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr uint32_t NO_CHUNK = UINT32_MAX;

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

extern "C" cudaError_t unshared_rows_mark(const mttkrp_args *args, uint64_t rows, uint32_t *first,
                                          uint32_t *unshared, cudaStream_t stream)
{
    cudaError_t code = cudaMemsetAsync(first, 0xff, rows * sizeof *first, stream);
    if (code != cudaSuccess)
        return code;
    code = cudaMemsetAsync(unshared, 0xff, UNSHARED_ROWS_WORDS(rows) * sizeof *unshared, stream);
    if (code != cudaSuccess)
        return code;
    if (args->chunks)
        find_chunks<<<static_cast<unsigned>(args->chunks), THREADS, 0, stream>>>(*args, first,
                                                                                 unshared);
    clear_empty_rows<<<thread_blocks(rows, THREADS), THREADS, 0, stream>>>(first, rows, unshared);
    return cudaGetLastError();
}

extern "C" cudaError_t unshared_rows_zero_others(void *m, uint32_t vectors,
                                                 const uint32_t *unshared, uint64_t rows,
                                                 cudaStream_t stream)
{
    zero_others<<<thread_blocks(rows * vectors, THREADS), THREADS, 0, stream>>>(
        static_cast<uint4 *>(m), vectors, unshared, rows);
    return cudaGetLastError();
}
