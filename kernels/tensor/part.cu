#include "kernels/tensor/part.h"

#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include "kernels/shared/thread_blocks.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr int ITEMS = PART_TILE / THREADS; /* neighbours, so that nonzeros keep their order */
constexpr uint64_t MOST_THREAD_BLOCKS = 1 << 20;

struct Destination {
    uint32_t *coordinate[MAX_ORDER];
    double *value;
};

struct Square {
    __host__ __device__ double operator()(double x) const
    {
        return x * x;
    }
};

/* Mode n's coordinate in the words of nonzero i, counted from the range's first row; wraps around
 * where it is below. */
__device__ uint32_t coordinate_of(const part_nonzeros &x, uint64_t i, int n)
{
    uint64_t word = x.index[x.layout.mode[n].word][i];
    return (static_cast<uint32_t>(word >> x.layout.mode[n].shift) & x.layout.mode[n].mask) -
           x.first[n];
}

__device__ bool lies_in(const part_nonzeros &x, uint64_t i)
{
    bool inside = i < x.nnz;
    for (int n = 0; n < x.layout.order && inside; n++)
        inside = coordinate_of(x, i, n) < x.rows[n];
    return inside;
}

__global__ void __launch_bounds__(THREADS)
    count_tile(const __grid_constant__ part_nonzeros x, uint64_t *__restrict__ count)
{
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * PART_TILE;
    int sum = 0;
    for (int k = 0; k < ITEMS; k++)
        sum += __syncthreads_count(lies_in(x, first + k * THREADS + threadIdx.x));
    if (threadIdx.x == 0)
        count[blockIdx.x] = static_cast<uint64_t>(sum);
}

__global__ void __launch_bounds__(THREADS)
    select_tile(const __grid_constant__ part_nonzeros x, const uint64_t *__restrict__ begin,
                const __grid_constant__ Destination to)
{
    using scan = cub::BlockScan<int, THREADS>;
    __shared__ typename scan::TempStorage shared;
    uint64_t tile = static_cast<uint64_t>(blockIdx.x) * PART_TILE;
    uint64_t at = begin[blockIdx.x];
    for (int k = 0; k < ITEMS; k++) {
        uint64_t i = tile + k * THREADS + threadIdx.x;
        int inside = lies_in(x, i), before, all;
        scan(shared).ExclusiveSum(inside, before, all);
        if (inside) {
            for (int n = 0; n < x.layout.order; n++)
                to.coordinate[n][at + before] = coordinate_of(x, i, n);
            to.value[at + before] = x.value[i];
        }
        at += all;
        __syncthreads();
    }
}

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

cudaError_t part_count(const part_nonzeros *x, uint64_t *count, cudaStream_t stream)
{
    if (x->nnz == 0)
        return cudaSuccess;
    count_tile<<<thread_blocks(x->nnz, PART_TILE), THREADS, 0, stream>>>(*x, count);
    return cudaGetLastError();
}

cudaError_t part_scan(void *temporary, size_t *temporary_bytes, uint64_t *count, uint64_t tiles,
                      cudaStream_t stream)
{
    return cub::DeviceScan::ExclusiveSum(temporary, *temporary_bytes, count, count,
                                         static_cast<int64_t>(tiles), stream);
}

cudaError_t part_select(const part_nonzeros *x, const uint64_t *begin, uint32_t *const *coordinate,
                        double *value, cudaStream_t stream)
{
    Destination to = {};
    if (x->nnz == 0)
        return cudaSuccess;
    for (int n = 0; n < x->layout.order; n++)
        to.coordinate[n] = coordinate[n];
    to.value = value;
    select_tile<<<thread_blocks(x->nnz, PART_TILE), THREADS, 0, stream>>>(*x, begin, to);
    return cudaGetLastError();
}

cudaError_t part_norm_sq(void *temporary, size_t *temporary_bytes, const double *value, uint64_t n,
                         double *sum, cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(temporary, *temporary_bytes,
                                  thrust::make_transform_iterator(value, Square()), sum,
                                  static_cast<int64_t>(n), stream);
}

cudaError_t part_touch(const uint32_t *index, uint64_t n, uint8_t *touched, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    mark<<<thread_blocks(n, THREADS, MOST_THREAD_BLOCKS), THREADS, 0, stream>>>(index, n, touched);
    return cudaGetLastError();
}

cudaError_t part_renumber(uint32_t *index, uint64_t n, const uint32_t *place, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    renumber<<<thread_blocks(n, THREADS, MOST_THREAD_BLOCKS), THREADS, 0, stream>>>(index, n,
                                                                                    place);
    return cudaGetLastError();
}
