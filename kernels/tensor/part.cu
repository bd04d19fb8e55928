#include "kernels/tensor/part.h"

#include "kernels/tensor/select.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr uint64_t MOST_THREAD_BLOCKS = 1 << 20;

/* Mode n's coordinate in the words of nonzero i, counted from the range's first row; wraps around
 * if it is below that row. */
__device__ uint32_t coordinate_of(const part_nonzeros &x, uint64_t i, int n)
{
    uint64_t word = x.index[x.layout.mode[n].word][i];
    return (static_cast<uint32_t>(word >> x.layout.mode[n].shift) & x.layout.mode[n].mask) -
           x.first[n];
}

struct InPart {
    part_nonzeros x;
    select_target to;

    __device__ bool has(uint64_t i) const
    {
        bool inside = i < x.nnz;
        for (int n = 0; n < x.layout.order && inside; n++)
            inside = coordinate_of(x, i, n) < x.rows[n];
        return inside;
    }

    __device__ void put(uint64_t i, uint64_t at) const
    {
        for (int n = 0; n < x.layout.order; n++)
            to.index[n][at] = coordinate_of(x, i, n);
        static_cast<double *>(to.value)[at] = x.value[i];
    }
};

struct Dealt {
    part_dealt x;
    select_target to;

    __device__ bool has(uint64_t i) const
    {
        if (i >= x.nnz)
            return false;
        const tuples_nonzeros &from = x.x;
        const uint32_t row = from.line ? static_cast<uint32_t>(from.line[i] >> from.shift[x.mode]) &
                                             from.mask[x.mode]
                                       : from.index[x.mode][i];
        const uint32_t k = row / x.stripe, common = (x.common + x.ranks - 1 - k) / x.ranks;
        return row % x.stripe < common ? x.own : k == x.me;
    }

    __device__ void put(uint64_t i, uint64_t at) const
    {
        if (to.line)
            to.line[at] = x.x.line[i];
        for (int n = 0; n < x.order && !to.line; n++)
            to.index[n][at] = x.x.index[n][i];
        static_cast<double *>(to.value)[at] = x.value[i];
    }
};

__global__ void mark(const uint32_t *__restrict__ index, uint64_t n, uint8_t *touched)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride)
        if (!touched[index[i]])
            touched[index[i]] = 1;
}

__global__ void renumber(uint32_t *__restrict__ index, uint64_t n,
                         const uint32_t *__restrict__ place)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride)
        index[i] = place[index[i]];
}

} // namespace

cudaError_t part_select(const part_nonzeros *x, uint64_t *tile, const select_target *to,
                        cudaStream_t stream)
{
    return select_step(InPart{*x, to ? *to : select_target{}}, x->nnz, to != nullptr, tile, stream);
}

cudaError_t part_select_dealt(const part_dealt *x, uint64_t *tile, const select_target *to,
                              cudaStream_t stream)
{
    return select_step(Dealt{*x, to ? *to : select_target{}}, x->nnz, to != nullptr, tile, stream);
}

cudaError_t part_touch(const uint32_t *index, uint64_t n, uint8_t *touched, cudaStream_t stream)
{
    return launch_kernel(mark, thread_blocks(n, THREADS, MOST_THREAD_BLOCKS), THREADS, stream,
                         index, n, touched);
}

cudaError_t part_renumber(uint32_t *index, uint64_t n, const uint32_t *place, cudaStream_t stream)
{
    return launch_kernel(renumber, thread_blocks(n, THREADS, MOST_THREAD_BLOCKS), THREADS, stream,
                         index, n, place);
}
