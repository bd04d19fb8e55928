/* Rows are read and written as by the MTTKRP kernels: a lane group per row, 16 bytes a lane,
 * several rows in flight. Row numbers come from a linear congruential generator (the constants are
 * those of Press et al., Numerical Recipes), so that they take no memory traffic. */
#include "kernels/measure/peak_rates.h"

#include "numerics/vector.cuh"
#include "numerics/unrolled.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr int IN_FLIGHT = 8;
constexpr uint32_t BLOCKS_PER_PROCESSOR = 32;

__device__ __forceinline__ uint32_t scatter(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

struct random_rows {
    uint32_t state, rows;

    __device__ __forceinline__ uint64_t next()
    {
        state = state * 1664525u + 1013904223u;
        return __umulhi(state, rows);
    }
};

template <typename T> __global__ void fill(void *table, uint64_t count)
{
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < count)
        static_cast<vector<T> *>(table)[i] =
            splat<vector<T>>(1 + scatter(static_cast<uint32_t>(i)) * 0x1p-32);
}

__global__ void copy(uint4 *to, const uint4 *from, uint64_t count)
{
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS * IN_FLIGHT + threadIdx.x;
    if (i + (IN_FLIGHT - 1) * THREADS < count) {
        uint4 value[IN_FLIGHT];
        EACH_UNROLLED(u, IN_FLIGHT)
            value[u] = from[i + u * THREADS];
        EACH_UNROLLED(u, IN_FLIGHT)
            to[i + u * THREADS] = value[u];
    } else {
        for (; i < count; i += THREADS)
            to[i] = from[i];
    }
}

template <typename T, int LANES>
__global__ void __launch_bounds__(THREADS)
    gather(vector<T> *table, uint32_t rows, uint32_t vectors, uint32_t rounds)
{
    using V = vector<T>;
    uint32_t lane_group = (blockIdx.x * THREADS + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    random_rows random{scatter(lane_group), rows};
    V sum = splat<V>(0);
    for (uint32_t round = 0; round < rounds; round++) {
        const V *row[IN_FLIGHT];
        EACH_UNROLLED(u, IN_FLIGHT)
            row[u] = table + random.next() * vectors;
        for (uint32_t column = lane; column < vectors; column += LANES) {
            V value[IN_FLIGHT];
            EACH_UNROLLED(u, IN_FLIGHT)
                value[u] = __ldg(row[u] + column);
            EACH_UNROLLED(u, IN_FLIGHT)
                sum = sum + value[u];
        }
    }
    if (sum.x < 0) /* never true, but the compiler cannot know, and must read */
        table[lane % vectors] = sum;
}

template <typename T, int LANES>
__global__ void __launch_bounds__(THREADS)
    add_atomically(vector<T> *table, uint32_t rows, uint32_t vectors, uint32_t rounds)
{
    using V = vector<T>;
    uint32_t lane_group = (blockIdx.x * THREADS + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    random_rows random{scatter(lane_group), rows};
    for (uint32_t round = 0; round < rounds; round++) {
        V *row[IN_FLIGHT];
        EACH_UNROLLED(u, IN_FLIGHT)
            row[u] = table + random.next() * vectors;
        for (uint32_t column = lane; column < vectors; column += LANES)
            EACH_UNROLLED(u, IN_FLIGHT)
                atomic_add(row[u] + column, splat<V>(1));
    }
}

enum operation { GATHER, ATOMIC };

template <typename T, int LANES> cudaError_t launch(peak_rows *r, operation op, cudaStream_t stream)
{
    constexpr uint32_t LANE_GROUPS = THREADS / LANES;
    uint32_t blocks = r->processors * BLOCKS_PER_PROCESSOR;
    uint64_t at_once = static_cast<uint64_t>(blocks) * LANE_GROUPS * IN_FLIGHT;
    uint32_t rounds = static_cast<uint32_t>((r->count + at_once - 1) / at_once);
    r->count = rounds * at_once;
    vector<T> *table = static_cast<vector<T> *>(r->table);
    const auto kernel = op == GATHER ? gather<T, LANES> : add_atomically<T, LANES>;
    return launch_kernel(kernel, blocks, THREADS, stream, table, r->rows, r->vectors, rounds);
}

template <typename T> cudaError_t choose_lanes(peak_rows *r, operation op, cudaStream_t stream)
{
    if (r->vectors <= 4)
        return launch<T, 4>(r, op, stream);
    if (r->vectors <= 8)
        return launch<T, 8>(r, op, stream);
    if (r->vectors <= 16)
        return launch<T, 16>(r, op, stream);
    return launch<T, 32>(r, op, stream);
}

} // namespace

cudaError_t peak_fill(void *table, uint64_t count, enum precision precision, cudaStream_t stream)
{
    return launch_kernel(IN_PRECISION(precision, fill), thread_blocks(count, THREADS), THREADS,
                         stream, table, count);
}

cudaError_t peak_copy(void *to, const void *from, uint64_t count, cudaStream_t stream)
{
    return launch_kernel(copy, thread_blocks(count, THREADS * IN_FLIGHT), THREADS, stream,
                         static_cast<uint4 *>(to), static_cast<const uint4 *>(from), count);
}

cudaError_t peak_gather(peak_rows *r, cudaStream_t stream)
{
    return IN_PRECISION(r->precision, choose_lanes)(r, GATHER, stream);
}

cudaError_t peak_atomic(peak_rows *r, cudaStream_t stream)
{
    return IN_PRECISION(r->precision, choose_lanes)(r, ATOMIC, stream);
}
