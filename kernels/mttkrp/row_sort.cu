#include "kernels/mttkrp/row_sort.h"

#include "kernels/mttkrp/output_row.cuh"

namespace
{

constexpr int THREADS = 256;

__global__ void list_rows(const __grid_constant__ mttkrp_args a, uint32_t *__restrict__ row,
                          uint32_t *__restrict__ position, uint32_t nnz)
{
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < nnz) {
        row[i] = output_row(a, i, 0);
        position[i] = static_cast<uint32_t>(i);
    }
}

} // namespace

cudaError_t row_sort_launch(const row_sort *s, mttkrp_args *args, uint32_t nnz, cudaStream_t stream)
{
    int bits = 0;
    for (uint32_t mask = args->output.mask; mask; mask >>= 1)
        bits++;
    array_pairs pairs = s->pairs;
    size_t bytes = s->temporary_bytes;
    pairs.count = nnz;
    CUDA_TRY(launch_kernel(list_rows, thread_blocks(nnz, THREADS), THREADS, stream, *args,
                           static_cast<uint32_t *>(pairs.key[0]),
                           static_cast<uint32_t *>(pairs.value[0]), nnz));
    const cudaError_t code =
        arrays_sort(s->temporary, &bytes, &pairs, bits > ROW_SORT_BITS ? bits - ROW_SORT_BITS : 0,
                    bits, stream);
    args->position = static_cast<uint32_t *>(pairs.value[0]);
    return code;
}
