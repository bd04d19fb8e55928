#include "kernels/tensor/line_pieces.h"

#include "kernels/tensor/select.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr uint64_t MOST_THREAD_BLOCKS = 1024;

__device__ uint64_t moved_line(const line_pieces_nonzeros &x, uint64_t i)
{
    uint64_t from = x.line[i], line = 0;
    for (int m = 0; m < x.moves.count; m++)
        line |= bit_move_apply(x.moves.move[m], from);
    return line;
}

template <typename T> struct InBins {
    line_pieces_nonzeros x;
    uint32_t first, end;
    select_target to;

    __device__ bool has(uint64_t i) const
    {
        if (i >= x.nnz)
            return false;
        uint64_t bin = moved_line(x, i) >> x.shift;
        return bin >= first && bin < end;
    }

    __device__ void put(uint64_t i, uint64_t at) const
    {
        to.line[at] = moved_line(x, i);
        static_cast<T *>(to.value)[at] = T(x.value[i]);
    }
};

__global__ void __launch_bounds__(THREADS)
    count_bins(const __grid_constant__ line_pieces_nonzeros x, unsigned long long *count)
{
    __shared__ unsigned own[LINE_PIECES_BINS];
    for (int b = threadIdx.x; b < LINE_PIECES_BINS; b += THREADS)
        own[b] = 0;
    __syncthreads();
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < x.nnz; i += stride)
        atomicAdd(&own[moved_line(x, i) >> x.shift], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < LINE_PIECES_BINS; b += THREADS)
        if (own[b])
            atomicAdd(&count[b], static_cast<unsigned long long>(own[b]));
}

} // namespace

cudaError_t line_pieces_bins(const line_pieces_nonzeros *x, uint64_t *count, cudaStream_t stream)
{
    CUDA_TRY(cudaMemsetAsync(count, 0, LINE_PIECES_BINS * sizeof *count, stream));
    return launch_kernel(count_bins, thread_blocks(x->nnz, THREADS, MOST_THREAD_BLOCKS), THREADS,
                         stream, *x, reinterpret_cast<unsigned long long *>(count));
}

cudaError_t line_pieces_select(const line_pieces_nonzeros *x, uint32_t first, uint32_t end,
                               uint64_t *tile, const select_target *to, int value_size,
                               cudaStream_t stream)
{
    const select_target target = to ? *to : select_target{};
    if (value_size == 4)
        return select_step(InBins<float>{*x, first, end, target}, x->nnz, to, tile, stream);
    return select_step(InBins<double>{*x, first, end, target}, x->nnz, to, tile, stream);
}
