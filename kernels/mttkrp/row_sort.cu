#include "kernels/mttkrp/row_sort.h"

#include <cub/device/device_radix_sort.cuh>

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

cudaError_t sort(void *temporary, size_t *bytes, cub::DoubleBuffer<uint32_t> &row,
                 cub::DoubleBuffer<uint32_t> &position, uint32_t nnz, int begin, int end,
                 cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(temporary, *bytes, row, position, nnz, begin, end,
                                           stream);
}

} // namespace

extern "C" cudaError_t row_sort_temporary(uint32_t nnz, size_t *bytes)
{
    cub::DoubleBuffer<uint32_t> row, position;
    return sort(nullptr, bytes, row, position, nnz, 0, ROW_SORT_BITS, nullptr);
}

extern "C" cudaError_t row_sort_launch(const row_sort *s, mttkrp_args *args, uint32_t nnz,
                                       cudaStream_t stream)
{
    int bits = 0;
    for (uint32_t mask = args->output.mask; mask; mask >>= 1)
        bits++;
    if (nnz)
        list_rows<<<(nnz - 1) / THREADS + 1, THREADS, 0, stream>>>(*args, s->row[0], s->position[0],
                                                                   nnz);
    cub::DoubleBuffer<uint32_t> row(s->row[0], s->row[1]);
    cub::DoubleBuffer<uint32_t> position(s->position[0], s->position[1]);
    size_t bytes = s->temporary_bytes;
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess)
        return code;
    code = sort(s->temporary, &bytes, row, position, nnz,
                bits > ROW_SORT_BITS ? bits - ROW_SORT_BITS : 0, bits, stream);
    args->position = position.Current();
    return code;
}
