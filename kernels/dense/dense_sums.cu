/* The second stages of the sums over rows, the pass for inner products alone, and copies between
 * floats and doubles. */
#include "kernels/dense/dense_sums.h"

#include "kernels/dense/dense_vector.cuh"
#include "kernels/dense/early_load.cuh"

namespace
{

constexpr int SUM_X = 32, SUM_Y = 16, SUM_AT_ONCE = 8;
constexpr int INNER_THREADS = 256, INNER_ROWS = 4;
constexpr unsigned WIDEN_THREADS = 256, WIDEN_BLOCKS = 1 << 16;

/* What a partial result holds: a plain Gram, Gram tiles and then inner products, or inner products.
 */
enum sum_layout { PLAIN_GRAM, GRAM_TILES, INNER };

struct sum_args {
    const double *partial; /* (all parts x entries) */
    struct dense_parts parts;
    uint64_t entries;
    enum sum_layout layout;
    uint32_t column_blocks, rank;
    double *raw; /* (sums x R x R) */
    double *inner;
    const int *halt; /* nothing is done where this is not 0; may be NULL */
};

__device__ void put_sum(const sum_args &args, uint64_t entry, double value)
{
    const uint64_t rank = args.rank;
    const uint64_t tiles = args.layout == GRAM_TILES ? DENSE_TILES(args.column_blocks) * 128 : 0;
    uint64_t i = entry / rank, j = entry % rank;
    if (args.layout == INNER || (args.layout == GRAM_TILES && entry >= tiles)) {
        if (args.inner && entry - tiles < rank)
            args.inner[entry - tiles] = value;
        return;
    }
    if (args.layout == GRAM_TILES) { /* in the order that the solve gives every 16 columns */
        const uint32_t lane = entry % 32, part = entry / 32 % 4, half = entry / 128 % 2;
        uint32_t p = 0, q = (uint32_t)(entry / 256);
        while (q >= args.column_blocks - p)
            q -= args.column_blocks - p++;
        i = 16 * p + 2 * (lane / 4) + part / 2;
        j = 16 * (p + q) + 2 * (2 * (lane % 4) + part % 2) + half;
    }
    if (i <= j && j < rank) {
        double *raw = args.raw + blockIdx.y * rank * rank;
        raw[i * rank + j] = value;
        raw[j * rank + i] = value;
    }
}

/* Sum blockIdx.y, of the partial results over their first index. */
__global__ void sum_kernel(const __grid_constant__ sum_args args)
{
    __shared__ double sums[SUM_Y][SUM_X];
    const uint64_t entry = (uint64_t)blockIdx.x * SUM_X + threadIdx.x;
    const int halted = args.halt ? early_load(args.halt) : 0;
    double sum = 0;
    if (entry < args.entries) {
        const uint32_t end = args.parts.first[blockIdx.y + 1];
        for (uint32_t c = args.parts.first[blockIdx.y] + threadIdx.y; c < end;
             c += SUM_Y * SUM_AT_ONCE) {
            double x[SUM_AT_ONCE]; /* whose loads do not wait for each other */
#pragma unroll
            for (uint32_t k = 0; k < SUM_AT_ONCE; k++) {
                const uint32_t part = c + SUM_Y * k;
                x[k] = part < end ? args.partial[part * args.entries + entry] : 0;
            }
#pragma unroll
            for (uint32_t k = 0; k < SUM_AT_ONCE; k++)
                sum += x[k];
        }
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && entry < args.entries && !halted) {
        for (int y = 1; y < SUM_Y; y++)
            sum += sums[y][threadIdx.x];
        put_sum(args, entry, sum);
    }
}

/* partial (gridDim.x x R) = inner products of each thread block's rows. A thread takes one vector
 * of each row, or every 256th vector. */
template <typename Real>
__global__ void __launch_bounds__(INNER_THREADS)
    inner_kernel(const Real *m, const Real *a, uint64_t rows, uint32_t vectors, uint32_t rank,
                 double *partial)
{
    constexpr int LENGTH = vector<Real>::LENGTH;
    __shared__ double sums[INNER_THREADS][LENGTH];
    const uint32_t width = min(vectors, (uint32_t)INNER_THREADS), height = INNER_THREADS / width;
    const uint32_t x = threadIdx.x % width, y = threadIdx.x / width;
    for (uint32_t v = x; v - x < vectors; v += width) {
        double sum[LENGTH] = {};
        if (y < height && v < vectors) {
            const vector<Real> *mv = (const vector<Real> *)m + v, *av = (const vector<Real> *)a + v;
#pragma unroll 4
            for (uint64_t row = (uint64_t)blockIdx.x * height + y; row < rows;
                 row += (uint64_t)gridDim.x * height) {
                const vector<Real> s = mv[row * vectors], t = av[row * vectors];
                for (int i = 0; i < LENGTH; i++)
                    sum[i] += (double)s.x[i] * (double)t.x[i];
            }
        }
        for (int i = 0; i < LENGTH; i++)
            sums[threadIdx.x][i] = sum[i];
        __syncthreads();
        if (y == 0 && v < vectors)
            for (int i = 0; i < LENGTH; i++) {
                for (uint32_t other = 1; other < height; other++)
                    sum[i] += sums[other * width + x][i];
                if ((uint64_t)v * LENGTH + i < rank)
                    partial[(uint64_t)blockIdx.x * rank + (uint64_t)v * LENGTH + i] = sum[i];
            }
        __syncthreads();
    }
}

__global__ void narrow_kernel(double *from, float *to, uint64_t n)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x)
        from[i] = (double)(to[i] = (float)from[i]);
}

/* A warp has a row. */
__global__ void __launch_bounds__(WIDEN_THREADS)
    widen_rows_kernel(const float *from, uint64_t from_ld, double *to, uint64_t to_ld,
                      uint64_t rows, uint64_t rank)
{
    const uint64_t thread = (uint64_t)blockIdx.x * WIDEN_THREADS + threadIdx.x;
    for (uint64_t row = thread / 32; row < rows; row += (uint64_t)gridDim.x * WIDEN_THREADS / 32)
        for (uint64_t column = thread % 32; column < to_ld; column += 32)
            to[row * to_ld + column] =
                column < rank ? static_cast<double>(from[row * from_ld + column]) : 0;
}

cudaError_t sum_launch(const sum_args &args, cudaStream_t stream)
{
    const uint64_t blocks = (args.entries + SUM_X - 1) / SUM_X;
    const dim3 grid((uint32_t)blocks, (unsigned)args.parts.sums);
    return launch_kernel(sum_kernel, grid, dim3(SUM_X, SUM_Y), stream, args);
}

template <typename Real>
cudaError_t inner_launch(const void *m, const void *a, uint64_t rows, uint64_t ld, uint32_t rank,
                         double *partial, uint32_t most, double *inner, cudaStream_t stream)
{
    const uint64_t vectors = ld / vector<Real>::LENGTH;
    const uint64_t height = vectors < INNER_THREADS ? INNER_THREADS / vectors : 1;
    const uint32_t blocks = rows > 0 ? thread_blocks(rows, height * INNER_ROWS, most) : 1;
    CUDA_TRY(launch_kernel(inner_kernel<Real>, blocks, INNER_THREADS, stream, (const Real *)m,
                           (const Real *)a, rows, (uint32_t)vectors, rank, partial));
    return sum_launch({partial, {1, {0, blocks}}, rank, INNER, 0, rank, nullptr, inner, nullptr},
                      stream);
}

} // namespace

cudaError_t dense_inner(const void *m, const void *a, uint64_t rows, uint64_t ld, uint32_t rank,
                        enum precision precision, double *partial, uint32_t blocks, double *inner,
                        cudaStream_t stream)
{
    return IN_PRECISION(precision, inner_launch)(m, a, rows, ld, rank, partial, blocks, inner,
                                                 stream);
}

cudaError_t dense_sum_tiles(const struct dense_parts *parts, const double *partial,
                            uint32_t column_blocks, uint32_t rank, double *raw, double *inner,
                            const int *halt, cudaStream_t stream)
{
    const uint64_t entries = DENSE_TILES_PARTIAL((uint64_t)column_blocks);
    return sum_launch({partial, *parts, entries, GRAM_TILES, column_blocks, rank, raw, inner, halt},
                      stream);
}

cudaError_t dense_sum_grams(const double *grams, uint32_t count, uint32_t rank, double *raw,
                            cudaStream_t stream)
{
    const uint64_t entries = (uint64_t)rank * rank;
    return sum_launch({grams, {1, {0, count}}, entries, PLAIN_GRAM, 0, rank, raw, nullptr, nullptr},
                      stream);
}

cudaError_t dense_narrow(double *from, float *to, uint64_t n, cudaStream_t stream)
{
    return launch_kernel(narrow_kernel, thread_blocks(n, WIDEN_THREADS, WIDEN_BLOCKS),
                         WIDEN_THREADS, stream, from, to, n);
}

cudaError_t dense_widen_rows(const float *from, uint64_t from_ld, double *to, uint64_t to_ld,
                             uint64_t rows, uint64_t rank, cudaStream_t stream)
{
    const unsigned blocks = thread_blocks(rows, WIDEN_THREADS / 32, WIDEN_BLOCKS);
    return launch_kernel(widen_rows_kernel, blocks, WIDEN_THREADS, stream, from, from_ld, to, to_ld,
                         rows, rank);
}
