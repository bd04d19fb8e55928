/* A lane group has a nonzero, each of its lanes some columns; shuffles add the lanes' sums. */
#include "kernels/residual/residual.h"

#include "numerics/row_term.h"

namespace
{

constexpr int THREADS = 256;
constexpr uint32_t COLUMNS = 4; /* whose terms a lane sums at a time */
constexpr unsigned ALL = 0xffffffffu;

/* The sum over the `lanes` neighbouring lanes of a lane group, in all of them. */
__device__ __forceinline__ double_double group_sum(double_double x, uint32_t lanes)
{
    for (uint32_t step = lanes / 2; step > 0; step /= 2) {
        double_double other = {__shfl_xor_sync(ALL, x.high, step),
                               __shfl_xor_sync(ALL, x.low, step)};
        x = dd_add(x, other);
    }
    return x;
}

/* row[n] = the row of factor matrix n at nonzero i of block `block`. */
template <typename T>
__device__ __forceinline__ void rows_at(const residual_args &a, uint64_t i, uint32_t block,
                                        const T **row)
{
    const uint64_t ld = (uint64_t)a.mttkrp.vectors * (VECTOR_BYTES / sizeof(T));
    for (int n = 0; n < a.order; n++) {
        const mttkrp_field &f = a.mode[n].field;
        uint32_t at = static_cast<uint32_t>(a.mttkrp.index[f.word][i] >> f.shift) & f.mask;
        at |= a.mttkrp.base ? a.mttkrp.base[(uint64_t)block * MAX_ORDER + f.mode] : 0;
        if (a.mode[n].coordinate)
            at = a.mode[n].coordinate[at];
        row[n] = static_cast<const T *>(a.mode[n].rows) + at * ld;
    }
}

template <typename T> __device__ __forceinline__ double value_at(const residual_args &a, uint64_t i)
{
    return a.mttkrp.wide_values ? static_cast<const double *>(a.mttkrp.value)[i]
                                : static_cast<double>(static_cast<const T *>(a.mttkrp.value)[i]);
}

/* The model's value at nonzero i of block `block`, of the columns lane, lane + lanes, ... alone. */
template <typename T>
__device__ double_double model_part(const residual_args &a, uint64_t i, uint32_t block,
                                    uint32_t lane, uint32_t lanes)
{
    const T *row[MAX_ORDER];
    rows_at(a, i, block, row);
    double_double sum = {0, 0};
    for (uint32_t r = lane; r < a.rank; r += lanes) {
        double_double product = {a.weight[r], 0};
        for (int n = 0; n < a.order; n++)
            product = dd_times(product, static_cast<double>(row[n][r]));
        sum = dd_add(sum, product);
    }
    return sum;
}

/* take(i, block, inside) for each nonzero i that the thread's lane group has of the thread block's
 * chunks. All lanes of a warp make the same number of steps, since they shuffle: a nonzero that is
 * not `inside` stands for none. */
template <typename F>
__device__ __forceinline__ void each_nonzero(const residual_args &a, uint32_t lanes, F take)
{
    const uint32_t groups = THREADS / lanes;
    for (uint64_t c = blockIdx.x; c < a.mttkrp.chunks; c += gridDim.x) {
        const mttkrp_chunk chunk = a.mttkrp.chunk[c];
        for (uint32_t k = 0; k < chunk.count; k += groups) {
            const uint32_t at = k + threadIdx.x / lanes;
            take(chunk.first + min(at, chunk.count - 1), chunk.block, at < chunk.count);
        }
    }
}

/* take(i, m) for each of them, with the model's value m there, by one of the lanes. */
template <typename T, typename F>
__device__ __forceinline__ void take_values(const residual_args &a, uint32_t lanes, F take)
{
    const uint32_t lane = threadIdx.x % lanes;
    each_nonzero(a, lanes, [&](uint64_t i, uint32_t block, bool inside) {
        double_double m = group_sum(model_part<T>(a, i, block, lane, lanes), lanes);
        if (inside && lane == 0)
            take(i, m);
    });
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    nonzeros_kernel(const __grid_constant__ residual_args a, uint32_t lanes, double_double *to)
{
    __shared__ double_double warp[THREADS / 32];
    double_double sum = {0, 0};
    take_values<T>(a, lanes, [&](uint64_t i, double_double m) {
        sum = dd_add(sum, dd_weighed_misfit(value_at<T>(a, i), m, a.unlisted));
    });
    sum = group_sum(sum, 32);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    sum = to[blockIdx.x];
    for (int w = 0; w < THREADS / 32; w++)
        sum = dd_add(sum, warp[w]);
    to[blockIdx.x] = sum;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    terms_kernel(const __grid_constant__ residual_args a, uint32_t lanes, void *to)
{
    take_values<T>(a, lanes, [&](uint64_t i, double_double m) {
        const double c = row_term(value_at<T>(a, i), m.high + m.low, a.unlisted).c;
        if (a.mttkrp.wide_values)
            static_cast<double *>(to)[i] = c;
        else
            static_cast<T *>(to)[i] = static_cast<T>(c);
    });
}

/* The value of component r where factor matrix n has row[n]. */
template <typename T>
__device__ __forceinline__ double component_at(const residual_args &a, const T *const *row,
                                               uint32_t r)
{
    double product = a.weight[r];
    for (int n = 0; n < a.order; n++)
        product *= static_cast<double>(row[n][r]);
    return product;
}

/* Thread blocks (x, y): the terms of the y-th columns of which there are COLUMNS for each lane. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    components_kernel(const __grid_constant__ residual_args a, uint32_t lanes)
{
    const uint32_t lane = threadIdx.x % lanes, column = blockIdx.y * COLUMNS * lanes + lane;
    double explained[COLUMNS] = {}, lost[COLUMNS] = {};
    each_nonzero(a, lanes, [&](uint64_t i, uint32_t block, bool inside) {
        const T *row[MAX_ORDER];
        double m = 0;
        rows_at(a, i, block, row);
        for (uint32_t r = lane; r < a.rank; r += lanes)
            m += component_at(a, row, r);
        for (uint32_t step = lanes / 2; step > 0; step /= 2)
            m += __shfl_xor_sync(ALL, m, step);
        const double x = value_at<T>(a, i);
#pragma unroll
        for (uint32_t j = 0; j < COLUMNS; j++) {
            const uint32_t r = column + j * lanes;
            if (!inside || r >= a.rank)
                continue;
            const component_term t =
                component_term_of(x, m, component_at(a, row, r), a.unlisted, a.rates);
            explained[j] += t.explained;
            lost[j] += t.lost;
        }
    });
#pragma unroll
    for (uint32_t j = 0; j < COLUMNS; j++) {
        const uint32_t r = column + j * lanes;
        if (r >= a.rank)
            continue;
        atomicAdd(&a.components[r], explained[j]);
        atomicAdd(&a.components[a.rank + r], lost[j]);
    }
}

/* Lanes for the columns of a nonzero: no more than a warp has. */
uint32_t lanes_for(uint32_t rank)
{
    uint32_t lanes = 1;
    while (lanes < rank && lanes < 32)
        lanes *= 2;
    return lanes;
}

constexpr uint32_t VALUE_LANES = 8; /* neighbouring lanes that have a coordinate */

template <typename T>
__global__ void __launch_bounds__(THREADS)
    values_kernel(const __grid_constant__ residual_args a, uint64_t count, double *value)
{
    const uint64_t ld = static_cast<uint64_t>(a.mttkrp.vectors) * (VECTOR_BYTES / sizeof(T));
    const uint64_t i = (static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x) / VALUE_LANES;
    const uint32_t lane = threadIdx.x % VALUE_LANES;
    double sum = 0;
    for (uint32_t r = lane; i < count && r < a.rank; r += VALUE_LANES) {
        double product = a.weight[r];
        for (int n = 0; n < a.order; n++)
            product *= static_cast<double>(
                __ldg(static_cast<const T *>(a.mode[n].rows) + a.mode[n].coordinate[i] * ld + r));
        sum += product;
    }
    for (uint32_t step = VALUE_LANES / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(ALL, sum, step);
    if (i < count && lane == 0)
        value[i] = sum;
}

constexpr int SIDE = 16; /* of a tile of the Gram, and rows of A at a time */

/* Thread block (x, y, z): tile (y, x) of the Gram of slice z of the rows; thread (x, y) one entry.
 */
template <typename T>
__global__ void __launch_bounds__(SIDE *SIDE)
    gram_kernel(const void *matrix, uint64_t rows, uint64_t ld, uint32_t rank,
                double_double *partial)
{
    const T *a = static_cast<const T *>(matrix);
    __shared__ double left[SIDE][SIDE], right[SIDE][SIDE + 1];
    if (blockIdx.x < blockIdx.y)
        return;
    const uint32_t i = blockIdx.y * SIDE + threadIdx.y, j = blockIdx.x * SIDE + threadIdx.x;
    const uint32_t left_column = blockIdx.y * SIDE + threadIdx.x;
    const uint64_t slice = (rows + gridDim.z - 1) / gridDim.z;
    const uint64_t begin = min(rows, (uint64_t)blockIdx.z * slice), end = min(rows, begin + slice);
    double_double sum = {0, 0};
    for (uint64_t k = begin; k < end; k += SIDE) {
        const uint64_t row = k + threadIdx.y;
        left[threadIdx.y][threadIdx.x] =
            row < end && left_column < rank ? static_cast<double>(a[row * ld + left_column]) : 0.0;
        right[threadIdx.y][threadIdx.x] =
            row < end && j < rank ? static_cast<double>(a[row * ld + j]) : 0.0;
        __syncthreads();
        for (int l = 0; l < SIDE; l++)
            sum = dd_add(sum, two_product(left[l][threadIdx.y], right[l][threadIdx.x]));
        __syncthreads();
    }
    if (i < rank && j < rank)
        partial[((uint64_t)blockIdx.z * rank + i) * rank + j] = sum;
}

} // namespace

cudaError_t residual_nonzeros(const struct residual_args *args, struct double_double *sum,
                              cudaStream_t stream)
{
    const uint32_t lanes = lanes_for(args->rank);
    if (args->mttkrp.chunks == 0)
        return cudaSuccess;
    return launch_kernel(IN_PRECISION(args->mttkrp.precision, nonzeros_kernel), RESIDUAL_BLOCKS,
                         THREADS, stream, *args, lanes, sum);
}

cudaError_t residual_terms(const struct residual_args *args, void *term, cudaStream_t stream)
{
    const uint32_t lanes = lanes_for(args->rank);
    const unsigned grid = thread_blocks(args->mttkrp.chunks, 1, RESIDUAL_BLOCKS);
    return launch_kernel(IN_PRECISION(args->mttkrp.precision, terms_kernel), grid, THREADS, stream,
                         *args, lanes, term);
}

cudaError_t residual_components(const struct residual_args *args, cudaStream_t stream)
{
    const uint32_t lanes = lanes_for(args->rank), columns = COLUMNS * lanes;
    const dim3 grid(thread_blocks(args->mttkrp.chunks, 1, RESIDUAL_BLOCKS),
                    thread_blocks(args->rank, columns));
    return launch_kernel(IN_PRECISION(args->mttkrp.precision, components_kernel), grid, THREADS,
                         stream, *args, lanes);
}

cudaError_t residual_values(const struct residual_args *args, uint64_t count, double *value,
                            cudaStream_t stream)
{
    return launch_kernel(IN_PRECISION(args->mttkrp.precision, values_kernel),
                         thread_blocks(count * VALUE_LANES, THREADS), THREADS, stream, *args, count,
                         value);
}

uint32_t residual_gram_slices(uint64_t rows, uint32_t rank)
{
    uint64_t slices = rows / 1024 + 1;
    const uint64_t most = (UINT64_C(1) << 22) / ((uint64_t)rank * rank) + 1;
    slices = slices < most ? slices : most;
    return static_cast<uint32_t>(slices < 512 ? slices : 512);
}

cudaError_t residual_gram(const void *a, uint64_t rows, uint32_t vectors, uint32_t rank,
                          enum precision precision, uint32_t slices, struct double_double *partial,
                          cudaStream_t stream)
{
    const unsigned tiles = (rank + SIDE - 1) / SIDE;
    const dim3 grid(tiles, tiles, slices), block(SIDE, SIDE);
    const uint64_t ld = (uint64_t)vectors * VECTOR_BYTES / precision_bytes(precision);
    return launch_kernel(IN_PRECISION(precision, gram_kernel), grid, block, stream, a, rows, ld,
                         rank, partial);
}
