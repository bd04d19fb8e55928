/* The model's values at the nonzeros, and their sums. A thread block takes a chunk, each lane group
 * a part of it; in the end of a window each lane has the value at one of its nonzeros. */
#include "kernels/rows/row_groups.cuh"
#include "kernels/rows/row_systems.h"
#include "numerics/poisson_term.h"

namespace
{

constexpr int BLOCKS = 5;                        /* of a processor at once: 96 registers a thread */
constexpr int MOST_WARPS = GROUP_THREADS / WARP; /* of a thread block */

template <typename T, int GATHERS, int LANES> struct value_sum {
    using groups = row_groups<T, GATHERS, LANES>;
    const groups &g;
    double m; /* at the lane's nonzero */
    double misfit, model;

    __device__ __forceinline__ explicit value_sum(const groups &lane_groups)
        : g(lane_groups), m(0), misfit(0), model(0)
    {
    }

    __device__ __forceinline__ void begin_window()
    {
    }

    __device__ __forceinline__ void take_values(int k, double value)
    {
        m = g.mine % groups::BATCHES == k ? value : m;
    }

    __device__ __forceinline__ void add(int, int, const double (&)[ENTRIES])
    {
    }

    __device__ __forceinline__ void end_row()
    {
    }

    __device__ __forceinline__ void end_window()
    {
        const int known = row_term_known(g.value);
        if (!g.here)
            return;
        if (!g.a.rules.rates) {
            model += known * m * m;
            return;
        }
        misfit += (known ? poisson_misfit(g.a.rules.kind, g.value, m) : 0) - g.a.rules.unlisted * m;
        model += (known - g.a.rules.unlisted) * m;
    }
};

template <typename T, int GATHERS, int LANES>
__global__ void __launch_bounds__(GROUP_THREADS, BLOCKS)
    values_kernel(const __grid_constant__ row_systems_args a)
{
    __shared__ row_totals part[MOST_WARPS];
    __shared__ double now[LANES * ENTRIES];
    row_groups<T, GATHERS, LANES> groups(a, now);
    value_sum<T, GATHERS, LANES> sum(groups);
    fill_common(now, a.common.now, a.rank);
    __syncthreads();
    const uint32_t group = threadIdx.x / LANES, in_block = blockDim.x / LANES;
    const uint64_t begin = __ldg(a.chunk + blockIdx.x);
    const uint64_t count = __ldg(a.chunk + blockIdx.x + 1) - begin;
    groups.begin({begin + count * group / in_block, begin + count * (group + 1) / in_block,
                  __ldg(a.block + blockIdx.x)});
    groups.walk(sum);
    const row_totals own = {warp_sum(sum.misfit), 0, 0, 0, warp_sum(sum.model)};
    if (groups.lane == 0)
        part[threadIdx.x / WARP] = own;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    row_totals all = part[0];
    for (uint32_t w = 1; w < blockDim.x / WARP; w++) {
        all.misfit += part[w].misfit;
        all.model += part[w].model;
    }
    a.room.totals[blockIdx.x] = all;
}

template <typename T, int GATHERS, int LANES> struct value_kernel {
    static auto choice()
    {
        return values_kernel<T, GATHERS, LANES>;
    }
};

} // namespace

cudaError_t row_systems_values(const struct row_systems_args *args, cudaStream_t stream)
{
    const auto kernel =
        group_kernel<value_kernel>(args->mttkrp.precision, args->rank, args->mttkrp.gathers);
    const int warps = args->rules.matrix ? MOST_WARPS : 1; /* else chunks are many and short */
    return launch_kernel(kernel, args->chunks, warps * WARP, stream, *args);
}
