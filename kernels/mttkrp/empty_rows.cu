#include "kernels/mttkrp/empty_rows.h"

#include "kernels/arrays/arrays.h"
#include "kernels/mttkrp/output_row.cuh"
#include "numerics/thread_blocks.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr size_t ALIGNMENT = 256;

size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

__global__ void clear_rows_with_nonzeros(const __grid_constant__ mttkrp_args a,
                                         unsigned char *wanted)
{
    const mttkrp_chunk c = a.chunk[blockIdx.x];
    uint32_t base = output_base(a, c);
    for (uint32_t i = threadIdx.x; i < c.count; i += THREADS)
        wanted[output_row(a, c.first + i, base)] = 0;
}

__global__ void mark_rows_at_ends(const __grid_constant__ mttkrp_args a, unsigned char *wanted)
{
    uint64_t k = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (k >= a.chunks)
        return;
    const mttkrp_chunk c = a.chunk[k];
    uint32_t base = output_base(a, c);
    wanted[output_row(a, c.first, base)] = 1;
    wanted[output_row(a, c.first + c.count - 1, base)] = 1;
}

} // namespace

extern "C" cudaError_t empty_rows_temporary(uint64_t rows, size_t *bytes)
{
    size_t for_select = 0;
    cudaError_t code = arrays_select(nullptr, &for_select, nullptr, nullptr, sizeof(uint32_t),
                                     nullptr, rows, nullptr);
    *bytes = aligned(sizeof(uint64_t)) + aligned(rows) + aligned(for_select);
    return code;
}

extern "C" cudaError_t empty_rows_list(const mttkrp_args *args, uint64_t rows, uint32_t *row,
                                       uint64_t *count, void *temporary, size_t bytes,
                                       cudaStream_t stream)
{
    unsigned char *free_space = static_cast<unsigned char *>(temporary);
    uint64_t *selected = reinterpret_cast<uint64_t *>(free_space);
    unsigned char *wanted = free_space + aligned(sizeof(uint64_t));
    void *for_select = wanted + aligned(rows);
    size_t left = bytes - aligned(sizeof(uint64_t)) - aligned(rows);

    cudaError_t code = cudaMemsetAsync(wanted, 1, rows, stream);
    if (code != cudaSuccess)
        return code;
    if (args->chunks) {
        clear_rows_with_nonzeros<<<static_cast<unsigned>(args->chunks), THREADS, 0, stream>>>(
            *args, wanted);
        mark_rows_at_ends<<<thread_blocks(args->chunks, THREADS), THREADS, 0, stream>>>(*args,
                                                                                        wanted);
        if ((code = cudaGetLastError()) != cudaSuccess)
            return code;
    }
    code = arrays_select(for_select, &left, wanted, row, sizeof *row, selected, rows, stream);
    if (code != cudaSuccess)
        return code;
    code = cudaMemcpyAsync(count, selected, sizeof *count, cudaMemcpyDeviceToHost, stream);
    return code == cudaSuccess ? cudaStreamSynchronize(stream) : code;
}
