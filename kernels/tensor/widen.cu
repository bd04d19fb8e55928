#include "kernels/tensor/widen.h"

#include "numerics/thread_blocks.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr uint64_t MOST_THREAD_BLOCKS = 1 << 20;

unsigned grid(uint64_t n)
{
    return thread_blocks(n, THREADS, MOST_THREAD_BLOCKS);
}

template <int BYTES>
__global__ void join_lines(const unsigned char *__restrict__ narrow, uint64_t *__restrict__ line,
                           uint64_t n)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride) {
        const unsigned char *piece = narrow + i / WIDEN_PIECE * WIDEN_PIECE * BYTES;
        uint64_t k = i % WIDEN_PIECE;
        uint64_t sum = reinterpret_cast<const uint32_t *>(piece)[k];
        if (BYTES >= 6)
            sum |= uint64_t(reinterpret_cast<const uint16_t *>(piece + 4 * WIDEN_PIECE)[k]) << 32;
        if (BYTES % 2 == 1)
            sum |= uint64_t(piece[(BYTES - 1) * WIDEN_PIECE + k]) << (8 * (BYTES - 1));
        line[i] = sum;
    }
}

template <typename In>
__global__ void widen(const In *__restrict__ in, double *__restrict__ result, uint64_t n)
{
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride)
        result[i] = in[i];
}

} // namespace

extern "C" cudaError_t widen_lines(const void *narrow, int bytes, uint64_t *line, uint64_t n,
                                   cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    auto from = static_cast<const unsigned char *>(narrow);
    if (bytes == 4)
        join_lines<4><<<grid(n), THREADS, 0, stream>>>(from, line, n);
    else if (bytes == 5)
        join_lines<5><<<grid(n), THREADS, 0, stream>>>(from, line, n);
    else if (bytes == 6)
        join_lines<6><<<grid(n), THREADS, 0, stream>>>(from, line, n);
    else
        join_lines<7><<<grid(n), THREADS, 0, stream>>>(from, line, n);
    return cudaGetLastError();
}

extern "C" cudaError_t widen_values(const void *narrow, int bytes, double *value, uint64_t n,
                                    cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    if (bytes == 1)
        widen<<<grid(n), THREADS, 0, stream>>>(static_cast<const unsigned char *>(narrow), value,
                                               n);
    else
        widen<<<grid(n), THREADS, 0, stream>>>(static_cast<const float *>(narrow), value, n);
    return cudaGetLastError();
}
