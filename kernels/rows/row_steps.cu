/* The steps before and after the pass over the rows of a mode. */
#include "kernels/dense/dense_modes.cuh"
#include "kernels/rows/row_nonzeros.cuh"
#include "kernels/rows/row_systems.h"
#include "kernels/rows/row_warp.cuh"
#include "numerics/poisson_term.h"
#include "numerics/row_term.h"

namespace
{

constexpr int THREADS = 256;
constexpr int SUM_THREADS = 1024;
constexpr uint32_t LIFT_BLOCKS = 4096;
constexpr int SNAP = 32; /* nonzeros among which the start of a row is looked for */

static_assert(SNAP < ROW_CHUNK_LEAST, "chunks stay in order");

/* Thread block i, thread j: entry (i, j) of V; thread 0 also component i. */
__global__ void make_common(const __grid_constant__ row_common_args a)
{
    const uint32_t rank = a.modes.rank;
    const uint32_t i = blockIdx.x, j = threadIdx.x;
    const double m_norm = 1 / scale(a.modes, i); /* how much longer the other modes' columns are */
    if (!a.rules.rates)
        a.to.v[i * rank + j] =
            a.rules.unlisted * hadamard(a.modes, i * rank + j, false) * m_norm / scale(a.modes, j);
    if (j != 0)
        return;
    const double norm = a.modes.norm[a.modes.mode][i];
    a.to.now[i] = a.lambda[i] / (norm != 0 ? norm : 1) / m_norm;
    a.to.out_scale[i] = m_norm;
    if (a.rules.rates) {
        double linear = a.rules.unlisted;
        for (int n = 0; n < a.modes.order; n++)
            linear *= n == a.modes.mode ? 1 : a.sum[n][i];
        a.to.linear[i] = linear;
        a.to.inverse[i] = inverse_or_zero(linear);
        a.to.unit[i] = 1 / m_norm;
        a.to.ridge[i] = POISSON_RIDGE * m_norm * m_norm / rank;
        return;
    }
    a.to.ridge[i] = row_ridge(&a.rules, fabs(a.lambda[i])) * m_norm * m_norm;
    a.to.cell[i] = hadamard(a.modes, i * rank + i, false) / a.cells * m_norm * m_norm;
    a.to.inverse[i] = 1 / a.to.ridge[i];
}

/* The row of nonzero i, of block `block`. */
__device__ uint32_t row_of_nonzero(const mttkrp_args &a, uint64_t i, uint32_t block)
{
    return coordinate_at(a.output, index_at(a, i), base_of(a, block));
}

__global__ void snap_chunks(const __grid_constant__ mttkrp_args a, const uint32_t *block,
                            uint32_t chunks, uint64_t *chunk, uint32_t *before, uint32_t *after)
{
    const uint32_t s = blockIdx.x * THREADS + threadIdx.x;
    if (s > chunks)
        return;
    uint64_t i = chunk[s];
    if (s == 0)
        after[s] = row_of_nonzero(a, i, block[s]);
    if (s == chunks)
        before[s] = row_of_nonzero(a, i - 1, block[s - 1]);
    if (s == 0 || s == chunks)
        return;
    const uint32_t own = block[s], last = block[s - 1];
    const uint32_t row = row_of_nonzero(a, i - 1, last);
    for (uint64_t k = i; own == last && k < i + SNAP; k++)
        if (row_of_nonzero(a, k, own) != row) {
            i = k;
            break;
        }
    chunk[s] = i;
    before[s] = row_of_nonzero(a, i - 1, last);
    after[s] = row_of_nonzero(a, i, own);
}

/* In one thread block, in a fixed order. */
__global__ void sum_totals(const row_totals *totals, uint32_t count, row_totals *to,
                           const __grid_constant__ row_model_args model,
                           const __grid_constant__ row_common common, uint32_t rank)
{
    __shared__ row_totals part[SUM_THREADS];
    row_totals sum = {};
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += SUM_THREADS)
        add_totals(sum, totals[i]);
    part[threadIdx.x] = sum;
    for (uint32_t half = SUM_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            add_totals(part[threadIdx.x], part[threadIdx.x + half]);
    }
    if (threadIdx.x > 0)
        return;
    *to = part[0];
    double of_model = 0;
    for (uint32_t r = 0; model.to && r < rank; r++)
        of_model += model.sum ? common.now[r] * model.sum[r] * common.linear[r]
                              : pow(fabs(model.lambda[r]), model.power);
    if (model.to)
        *model.to = of_model;
}

/* Thread block row, thread column, in strides. */
template <typename T> __global__ void lift_zeros(const __grid_constant__ row_lift_args a)
{
    const uint64_t ld = a.vectors * (VECTOR_BYTES / sizeof(T));
    for (uint64_t i = blockIdx.x; i < a.rows; i += gridDim.x) {
        T *entry = static_cast<T *>(a.a) + i * ld + threadIdx.x;
        const double sum = a.sum[threadIdx.x];
        if (*entry == 0)
            *entry = static_cast<T>(a.share * (sum > 0 ? sum : 1));
    }
}

} // namespace

cudaError_t row_common_make(const struct row_common_args *args, cudaStream_t stream)
{
    return launch_kernel(make_common, args->modes.rank, args->modes.rank, stream, *args);
}

cudaError_t row_chunks_snap(const struct mttkrp_args *args, const uint32_t *block, uint32_t chunks,
                            uint64_t *chunk, uint32_t *before, uint32_t *after, cudaStream_t stream)
{
    return launch_kernel(snap_chunks, chunks / THREADS + 1, THREADS, stream, *args, block, chunks,
                         chunk, before, after);
}

cudaError_t row_totals_sum(const struct row_systems_args *args, uint32_t count,
                           struct row_totals *sum, const struct row_model_args *model,
                           cudaStream_t stream)
{
    return launch_kernel(sum_totals, 1, SUM_THREADS, stream, args->room.totals, count, sum, *model,
                         args->common, args->rank);
}

cudaError_t row_lift_zeros(const struct row_lift_args *args, cudaStream_t stream)
{
    return launch_kernel(IN_PRECISION(args->precision, lift_zeros),
                         thread_blocks(args->rows, 1, LIFT_BLOCKS), args->rank, stream, *args);
}
