/* The steps before and after the pass over the rows of a mode. */
#include "kernels/dense/dense_modes.cuh"
#include "kernels/mttkrp/chunk_nonzeros.cuh"
#include "kernels/rows/row_systems.h"

namespace
{

constexpr int THREADS = 256;
constexpr int SNAP = 32;              /* nonzeros among which the start of a row is looked for */
constexpr double RIDGE_LIMIT = 1e200; /* of a component that has become zero, which stays so */

static_assert(SNAP < ROW_SPAN_LEAST, "spans stay in order");

/* Thread block i, thread j: entry (i, j) of V; thread 0 also component i. */
__global__ void make_common(const __grid_constant__ row_common_args a)
{
    const uint32_t rank = a.modes.rank;
    const uint32_t i = blockIdx.x, j = threadIdx.x;
    const double apart = 1 / scale(a.modes, i);
    a.to.v[i * rank + j] =
        a.unlisted * hadamard(a.modes, i * rank + j, false) * apart / scale(a.modes, j);
    if (j != 0)
        return;
    const double norm = a.modes.norm[a.modes.mode][i], lambda = fabs(a.lambda[i]);
    double ridge = a.ridge;
    if (ridge > 0 && a.power > 0)
        ridge = lambda > 0 ? ridge * pow(lambda, -a.power) : RIDGE_LIMIT;
    ridge = ridge < RIDGE_LIMIT ? ridge : RIDGE_LIMIT;
    a.to.now[i] = a.lambda[i] / (norm != 0 ? norm : 1) / apart;
    a.to.out[i] = apart;
    a.to.ridge[i] = ridge * apart * apart;
    a.to.inverse[i] = 1 / a.to.ridge[i];
}

/* The row of nonzero i, of block `block`. */
__device__ uint32_t row_of_nonzero(const mttkrp_args &a, uint64_t i, uint32_t block)
{
    index_words<ANY> index;
    index.word[0] = __ldg(a.index[0] + i);
    index.word[1] = a.index[1] ? __ldg(a.index[1] + i) : 0;
    const uint32_t base =
        a.base ? __ldg(a.base + static_cast<uint64_t>(block) * MAX_ORDER + a.output.mode) : 0;
    return coordinate<ANY>(a.output, index, base);
}

__global__ void snap_spans(const __grid_constant__ mttkrp_args a, const uint32_t *block,
                           uint32_t spans, uint64_t *span, uint32_t *before, uint32_t *after)
{
    const uint32_t s = blockIdx.x * THREADS + threadIdx.x;
    if (s == 0 || s >= spans)
        return;
    uint64_t i = span[s];
    const uint32_t own = block[s], last = block[s - 1];
    const uint32_t row = row_of_nonzero(a, i - 1, last);
    for (uint64_t k = i; own == last && k < i + SNAP; k++)
        if (row_of_nonzero(a, k, own) != row) {
            i = k;
            break;
        }
    span[s] = i;
    before[s] = row_of_nonzero(a, i - 1, last);
    after[s] = row_of_nonzero(a, i, own);
}

/* In one thread block, in a fixed order. */
__global__ void sum_totals(const row_totals *of, uint32_t count, row_totals *to,
                           const double *lambda, uint32_t rank, double power, double *model)
{
    __shared__ row_totals part[THREADS];
    row_totals sum = {};
    for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
        sum.misfit += of[i].misfit;
        sum.size += of[i].size;
        sum.penalty += of[i].penalty;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int k = 1; k < THREADS; k++) {
        sum.misfit += part[k].misfit;
        sum.size += part[k].size;
        sum.penalty += part[k].penalty;
    }
    *to = sum;
    double all = 0;
    for (uint32_t r = 0; model && r < rank; r++)
        all += pow(fabs(lambda[r]), power);
    if (model)
        *model = all;
}

} // namespace

extern "C" {

cudaError_t row_common_make(const struct row_common_args *args, cudaStream_t stream)
{
    make_common<<<args->modes.rank, args->modes.rank, 0, stream>>>(*args);
    return cudaGetLastError();
}

cudaError_t row_spans_snap(const struct mttkrp_args *args, const uint32_t *block, uint32_t spans,
                           uint64_t *span, uint32_t *before, uint32_t *after, cudaStream_t stream)
{
    snap_spans<<<spans / THREADS + 1, THREADS, 0, stream>>>(*args, block, spans, span, before,
                                                            after);
    return cudaGetLastError();
}

cudaError_t row_totals_sum(const struct row_systems_args *args, struct row_totals *sum,
                           const double *lambda, double power, double *model, cudaStream_t stream)
{
    const uint32_t count = args->spans + (args->only_squares ? 0 : args->joins);
    sum_totals<<<1, THREADS, 0, stream>>>(args->totals, count, sum, lambda, args->rank, power,
                                          model);
    return cudaGetLastError();
}
}
