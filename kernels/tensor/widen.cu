#include "kernels/tensor/widen.h"

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
__global__ void widen(const void *__restrict__ narrow, double *__restrict__ result, uint64_t n)
{
    const In *in = static_cast<const In *>(narrow);
    const uint64_t stride = uint64_t(gridDim.x) * THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride)
        result[i] = in[i];
}

} // namespace

cudaError_t widen_lines(const void *narrow, int bytes, uint64_t *line, uint64_t n,
                        cudaStream_t stream)
{
    const auto kernel = bytes == 4   ? join_lines<4>
                        : bytes == 5 ? join_lines<5>
                        : bytes == 6 ? join_lines<6>
                                     : join_lines<7>;
    return launch_kernel(kernel, grid(n), THREADS, stream,
                         static_cast<const unsigned char *>(narrow), line, n);
}

cudaError_t widen_values(const void *narrow, int bytes, double *value, uint64_t n,
                         cudaStream_t stream)
{
    const auto kernel = bytes == 1 ? widen<unsigned char> : widen<float>;
    return launch_kernel(kernel, grid(n), THREADS, stream, narrow, value, n);
}
