#include "kernels/dense/dense_widen.h"

#include "numerics/thread_blocks.cuh"

namespace
{

constexpr unsigned THREADS = 256;
constexpr uint64_t MOST_BLOCKS = 1 << 16;

__global__ void __launch_bounds__(THREADS)
    widen_kernel(const float *from, uint64_t from_ld, double *to, uint64_t to_ld, uint64_t rows,
                 uint64_t rank)
{
    const uint64_t all = rows * to_ld, step = (uint64_t)gridDim.x * THREADS;
    for (uint64_t e = (uint64_t)blockIdx.x * THREADS + threadIdx.x; e < all; e += step) {
        const uint64_t row = e / to_ld, column = e % to_ld;
        to[e] = column < rank ? static_cast<double>(from[row * from_ld + column]) : 0;
    }
}

} // namespace

extern "C" cudaError_t dense_widen_rows(const float *from, uint64_t from_ld, double *to,
                                        uint64_t to_ld, uint64_t rows, uint64_t rank,
                                        cudaStream_t stream)
{
    const unsigned blocks = thread_blocks(rows * to_ld, THREADS, MOST_BLOCKS);
    if (blocks == 0)
        return cudaSuccess;
    widen_kernel<<<blocks, THREADS, 0, stream>>>(from, from_ld, to, to_ld, rows, rank);
    return cudaGetLastError();
}
