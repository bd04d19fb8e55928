#include "kernels/dense/dense_columns.h"

#include "numerics/column_scale.h"

namespace
{

constexpr int COLUMNS = 32, ROWS = 8; /* of a thread block: a thread has one column */

/* What a thread needs of its column. */
struct own_column {
    double scale, weight, bound;
};

template <typename Real>
__device__ __forceinline__ double entry_of(const Real *a, uint64_t at, const own_column &column)
{
    const double x = (double)a[at] * column.scale;
    return x * column.weight <= column.bound ? 0 : x;
}

/* Whether an entry takes the place of the largest so far. */
__device__ __forceinline__ bool comes_first(double x, uint64_t row, double largest,
                                            uint64_t largest_row)
{
    const double difference = fabs(x) - fabs(largest);
    return difference > 0 || (difference == 0 && row < largest_row);
}

/* Two passes over the thread block's rows: the sums need the largest entries. */
template <typename Real>
__global__ void __launch_bounds__(COLUMNS *ROWS) columns_kernel(const dense_columns_args args)
{
    __shared__ double shared_largest[ROWS][COLUMNS], shared_sum[ROWS][COLUMNS];
    __shared__ uint64_t shared_row[ROWS][COLUMNS];
    const uint32_t c = blockIdx.y * COLUMNS + threadIdx.x;
    const uint64_t begin = (uint64_t)blockIdx.x * ROWS + threadIdx.y;
    const uint64_t step = (uint64_t)gridDim.x * ROWS, end = c < args.rank ? args.rows : 0;
    const Real *a = (const Real *)args.a + c;
    own_column own = {0, 0, 0};
    if (c < args.rank)
        own = {args.scale[c], args.weight[c], args.bound[c]};

    double largest = 0;
    uint64_t row = UINT64_MAX;
#pragma unroll 4
    for (uint64_t i = begin; i < end; i += step) {
        const double x = entry_of(a, i * args.ld, own);
        if (fabs(x) >= fabs(largest)) {
            const uint64_t number = args.row ? args.row[i] : args.first + i;
            if (comes_first(x, number, largest, row)) {
                largest = x;
                row = number;
            }
        }
    }
    shared_largest[threadIdx.y][threadIdx.x] = largest;
    shared_row[threadIdx.y][threadIdx.x] = row;
    __syncthreads();
    for (int y = 0; y < ROWS; y++)
        if (comes_first(shared_largest[y][threadIdx.x], shared_row[y][threadIdx.x], largest, row)) {
            largest = shared_largest[y][threadIdx.x];
            row = shared_row[y][threadIdx.x];
        }

    const double scale = column_scale(largest);
    double sum = 0;
#pragma unroll 4
    for (uint64_t i = begin; i < end; i += step) {
        const double x = entry_of(a, i * args.ld, own) * scale;
        sum += x * x;
    }
    shared_sum[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && c < args.rank) {
        for (int y = 1; y < ROWS; y++)
            sum += shared_sum[y][threadIdx.x];
        args.partial[(uint64_t)blockIdx.x * args.rank + c] = {largest, sum, row};
    }
}

/* partial (gridDim.x x R) = the sums over the rows of each thread block. */
template <typename Real>
__global__ void __launch_bounds__(COLUMNS *ROWS) sums_kernel(const dense_column_sums_args args)
{
    __shared__ double shared[ROWS][COLUMNS];
    const uint32_t c = blockIdx.y * COLUMNS + threadIdx.x;
    const uint64_t begin = (uint64_t)blockIdx.x * ROWS + threadIdx.y;
    const uint64_t step = (uint64_t)gridDim.x * ROWS, end = c < args.rank ? args.rows : 0;
    const Real *a = (const Real *)args.a + c;
    double sum = 0;
#pragma unroll 4
    for (uint64_t i = begin; i < end; i += step)
        sum += (double)a[i * args.ld];
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || c >= args.rank)
        return;
    for (int y = 1; y < ROWS; y++)
        sum += shared[y][threadIdx.x];
    args.partial[(uint64_t)blockIdx.x * args.rank + c] = sum;
}

/* Thread block c: column c. */
__global__ void __launch_bounds__(DENSE_SUM_PARTS)
    sum_partial_kernel(const dense_column_sums_args args, uint32_t parts)
{
    __shared__ double sums[DENSE_SUM_PARTS];
    const uint32_t c = blockIdx.x, i = threadIdx.x;
    sums[i] = i < parts ? args.partial[(uint64_t)i * args.rank + c] : 0;
    for (uint32_t half = DENSE_SUM_PARTS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (i < half)
            sums[i] += sums[i + half];
    }
    if (i == 0)
        args.sum[c] = sums[0];
}

} // namespace

cudaError_t dense_column_sums(const struct dense_column_sums_args *args, enum precision precision,
                              cudaStream_t stream)
{
    const uint64_t wanted = args->rows / (8 * ROWS) + 1;
    const uint32_t parts = wanted < DENSE_SUM_PARTS ? (uint32_t)wanted : DENSE_SUM_PARTS;
    const dim3 blocks(parts, (args->rank + COLUMNS - 1) / COLUMNS);
    const dim3 threads(COLUMNS, ROWS);
    CUDA_TRY(launch_kernel(IN_PRECISION(precision, sums_kernel), blocks, threads, stream, *args));
    return launch_kernel(sum_partial_kernel, args->rank, DENSE_SUM_PARTS, stream, *args, parts);
}

cudaError_t dense_columns(const struct dense_columns_args *args, enum precision precision,
                          cudaStream_t stream)
{
    const dim3 blocks(args->blocks, (args->rank + COLUMNS - 1) / COLUMNS);
    const dim3 threads(COLUMNS, ROWS);
    return launch_kernel(IN_PRECISION(precision, columns_kernel), blocks, threads, stream, *args);
}
