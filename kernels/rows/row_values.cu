/* The model's values at the nonzeros, and their sums. A lane group takes a nonzero, each lane
 * some vectors of its rows; in the end each lane has the value at one of 32 nonzeros. */
#include "kernels/mttkrp/chunk_nonzeros.cuh"
#include "kernels/rows/row_systems.h"
#include "kernels/rows/row_warp.cuh"
#include "numerics/poisson_term.h"

namespace
{

constexpr uint32_t WARPS = 8, GROUP = 8;
constexpr uint32_t BLOCKS_PER_PROCESSOR = 8;

/* 16 bytes of a row. */
template <typename T> struct alignas(VECTOR_BYTES) row_part {
    T x[VECTOR_BYTES / sizeof(T)];
};

/* PER: vectors of a row that each lane of a group takes. */
template <typename T, int PER> struct value_walk {
    static constexpr int WIDTH = VECTOR_BYTES / sizeof(T), ENTRIES = PER * WIDTH;

    const row_systems_args &a;
    const uint32_t lane, lanes; /* lanes of a group: a power of two, at most GROUP */
    double now[ENTRIES];
    const uint32_t *base; /* of the span's block, or NULL */

    __device__ __forceinline__ value_walk(const row_systems_args &args, uint32_t group)
        : a(args), lane(threadIdx.x % WARP), lanes(group), base(nullptr)
    {
#pragma unroll
        for (int i = 0; i < ENTRIES; i++) {
            const uint32_t r = vector_number(i / WIDTH) * WIDTH + i % WIDTH;
            now[i] = r < a.rank ? __ldg(a.common.now + r) : 0;
        }
    }

    /* The lane's k-th vector. */
    __device__ __forceinline__ uint32_t vector_number(int k) const
    {
        return k * lanes + lane % lanes;
    }

    /* x is multiplied by the lane's entries of a row. */
    __device__ __forceinline__ void multiply(double (&x)[ENTRIES], const void *rows,
                                             const mttkrp_field &f,
                                             const index_words<ANY> &index) const
    {
        const uint64_t i = coordinate<ANY>(f, index, base ? __ldg(base + f.mode) : 0);
        const row_part<T> *row = static_cast<const row_part<T> *>(rows) + i * a.mttkrp.vectors;
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const row_part<T> part = row[min(vector_number(k), a.mttkrp.vectors - 1)];
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
                x[k * WIDTH + e] *= static_cast<double>(part.x[e]);
        }
    }

    /* The lane's part of the value at this nonzero. */
    __device__ __forceinline__ double part_of_value(const index_words<ANY> &index) const
    {
        double x[ENTRIES], sum = 0;
#pragma unroll
        for (int i = 0; i < ENTRIES; i++)
            x[i] = now[i];
        multiply(x, a.old, a.mttkrp.output, index);
        for (int k = 0; k < a.mttkrp.gathers; k++)
            multiply(x, a.mttkrp.gather[k].rows, a.mttkrp.gather[k].field, index);
#pragma unroll
        for (int i = 0; i < ENTRIES; i++)
            sum += x[i];
        return sum;
    }

    /* The value at the lane's nonzero of this index. */
    __device__ __forceinline__ double value_of(const index_words<ANY> &mine) const
    {
        const uint32_t at_once = WARP / lanes; /* nonzeros */
        double m = 0;
#pragma unroll 2
        for (uint32_t step = 0; step < lanes; step++) {
            const uint32_t from = step * at_once + lane / lanes;
            index_words<ANY> index;
            index.word[0] = __shfl_sync(ALL, mine.word[0], from);
            index.word[1] = a.mttkrp.index[1] ? __shfl_sync(ALL, mine.word[1], from) : 0;
            double sum = part_of_value(index);
#pragma unroll
            for (uint32_t half = GROUP / 2; half > 0; half /= 2)
                sum += half < lanes ? __shfl_xor_sync(ALL, sum, half) : 0;
            sum = __shfl_sync(ALL, sum, lane % at_once * lanes);
            m = lane / at_once == step ? sum : m;
        }
        return m;
    }

    __device__ __forceinline__ double value_at(uint64_t i) const
    {
        return a.mttkrp.wide_values
                   ? __ldg(static_cast<const double *>(a.mttkrp.value) + i)
                   : static_cast<double>(__ldg(static_cast<const T *>(a.mttkrp.value) + i));
    }

    /* Adds a nonzero. */
    __device__ __forceinline__ void add(row_totals &sum, double x, double m) const
    {
        const int known = row_term_known(x);
        if (!a.counts) {
            sum.model += known * m * m;
            return;
        }
        sum.misfit += (known ? poisson_misfit(x, m) : 0) - a.unlisted * m;
        sum.model += (known - a.unlisted) * m;
    }

    __device__ __forceinline__ row_totals sum_span(uint32_t span)
    {
        const uint64_t end = __ldg(a.span + span + 1);
        row_totals sum = {};
        if (a.mttkrp.base)
            base = a.mttkrp.base + static_cast<uint64_t>(__ldg(a.block + span)) * MAX_ORDER;
        for (uint64_t first = __ldg(a.span + span); first < end; first += WARP) {
            const uint64_t i = min(first + lane, end - 1);
            index_words<ANY> mine;
            mine.word[0] = __ldg(a.mttkrp.index[0] + i);
            mine.word[1] = a.mttkrp.index[1] ? __ldg(a.mttkrp.index[1] + i) : 0;
            const double m = value_of(mine);
            if (first + lane < end)
                add(sum, value_at(i), m);
        }
        return {warp_sum(sum.misfit), 0, 0, 0, warp_sum(sum.model)};
    }
};

/* Warps take spans by turns. */
template <typename T, int PER>
__global__ void __launch_bounds__(WARP *WARPS)
    values_kernel(const __grid_constant__ row_systems_args a, uint32_t lanes)
{
    value_walk<T, PER> walk(a, lanes);
    for (uint32_t s = blockIdx.x * WARPS + threadIdx.x / WARP; s < a.spans;
         s += gridDim.x * WARPS) {
        const row_totals sum = walk.sum_span(s);
        if (walk.lane == 0)
            a.totals[s] = sum;
    }
}

using values_launch = void (*)(row_systems_args, uint32_t);

template <typename T> values_launch choose(uint32_t vectors)
{
    constexpr int MOST = ROW_SYSTEMS_RANK * sizeof(T) / VECTOR_BYTES / GROUP;
    if (vectors <= GROUP)
        return values_kernel<T, 1>;
    return vectors <= 2 * GROUP ? values_kernel<T, 2> : values_kernel<T, MOST>;
}

} // namespace

extern "C" cudaError_t row_systems_values(const struct row_systems_args *args, cudaStream_t stream)
{
    int device, processors;
    uint32_t lanes = 1;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (code != cudaSuccess)
        return code;
    while (lanes < args->mttkrp.vectors && lanes < GROUP)
        lanes *= 2;
    const uint32_t most = static_cast<uint32_t>(processors) * BLOCKS_PER_PROCESSOR;
    const uint32_t blocks = min(most, (args->spans + WARPS - 1) / WARPS);
    const values_launch kernel = args->mttkrp.precision == PRECISION_SINGLE
                                     ? choose<float>(args->mttkrp.vectors)
                                     : choose<double>(args->mttkrp.vectors);
    kernel<<<blocks, WARP * WARPS, 0, stream>>>(*args, lanes);
    return cudaGetLastError();
}
