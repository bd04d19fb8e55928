#include "kernels/mttkrp/tile_sums.h"

#include "kernels/mttkrp/row_sums.cuh"
#include "kernels/mttkrp/tile_runs.cuh"
#include "numerics/vector.cuh"

namespace
{

constexpr uint32_t SUM_THREADS = 256;
constexpr uint32_t PARTIALS_OF_A_THREAD = 16;

/* The sum of entries k, k + step, ... before `end` of row_partial. `partial` points to this
 * thread's vector of the first partial sum. */
template <typename V>
__device__ __forceinline__ V every_sum(const tiles_args &t, const V *partial, uint32_t k,
                                       uint32_t end, uint32_t step)
{
    V sum = splat<V>(0);
#pragma unroll 4
    for (; k < end; k += step)
        sum = sum +
              __ldcs(partial + static_cast<uint64_t>(__ldg(t.row_partial + k)) * t.mttkrp.vectors);
    return sum;
}

/* Each row of M = the sum of its partial sums. A group of threads has `columns` neighbouring
 * vectors, one each, and `slices` groups share a row: each takes every slices-th of its first
 * partial sums. What then remains of a row, all groups of the block add. */
template <typename T>
__global__ void __launch_bounds__(SUM_THREADS)
    add_partials(const __grid_constant__ tiles_args t, uint32_t columns, uint32_t slices)
{
    using V = vector<T>;
    __shared__ V group_sum[SUM_THREADS];
    const uint32_t vectors = t.mttkrp.vectors, most = PARTIALS_OF_A_THREAD * slices;
    const uint32_t group = threadIdx.x / columns, groups = SUM_THREADS / columns;
    const uint32_t in_group = threadIdx.x % columns, column = blockIdx.y * columns + in_group;
    const uint64_t first_row = static_cast<uint64_t>(blockIdx.x) * (groups / slices);
    const uint64_t row = first_row + group / slices;
    const uint32_t begin = row < t.rows ? __ldg(t.row_begin + row) : 0;
    const uint32_t end = row < t.rows ? __ldg(t.row_begin + row + 1) : 0;
    const V *partial = static_cast<const V *>(t.partial) + min(column, vectors - 1);
    V sum = every_sum(t, partial, begin + group % slices, min(end, begin + most), slices);
    if (__syncthreads_or(end - begin > most))
        for (uint32_t r = 0; r < groups / slices && first_row + r < t.rows; r++) {
            const uint32_t from = __ldg(t.row_begin + first_row + r) + most;
            const uint32_t to = __ldg(t.row_begin + first_row + r + 1);
            if (from >= to)
                continue;
            group_sum[threadIdx.x] = every_sum(t, partial, from + group, to, groups);
            __syncthreads();
            if (group == r * slices)
                for (uint32_t g = 0; g < groups; g++)
                    sum = sum + group_sum[g * columns + in_group];
            __syncthreads();
        }
    group_sum[threadIdx.x] = sum;
    __syncthreads();
    if (group % slices > 0 || row >= t.rows || column >= vectors)
        return;
    for (uint32_t g = 1; g < slices; g++)
        sum = sum + group_sum[threadIdx.x + g * columns];
    __stcs(static_cast<V *>(t.mttkrp.m) + row * vectors + column, sum);
}

/* Where the output row changes within the run of each thread: *each(number of the change, row). */
template <typename EACH>
__device__ __forceinline__ void each_sum(const tiles_args &t, uint32_t lane_groups, uint64_t run,
                                         EACH each)
{
    const mttkrp_args &a = t.mttkrp;
    const mttkrp_chunk c = a.chunk[run / lane_groups];
    const uint32_t length = run_length(c.count, lane_groups);
    const uint32_t begin = min(static_cast<uint32_t>(run % lane_groups) * length, c.count);
    const uint32_t end = min(begin + length, c.count);
    uint32_t row = NO_ROW, sums = 0;
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t next = coordinate(a.output, __ldg(a.index[0] + c.first + i));
        if (next != row)
            each(sums++, next);
        row = next;
    }
}

__global__ void count_sums(const __grid_constant__ tiles_args t, uint32_t lane_groups,
                           uint32_t *count)
{
    const uint64_t run = static_cast<uint64_t>(blockIdx.x) * SUM_THREADS + threadIdx.x;
    if (run >= t.mttkrp.chunks * lane_groups)
        return;
    uint32_t sums = 0;
    each_sum(t, lane_groups, run, [&](uint32_t, uint32_t) { sums++; });
    count[run] = sums;
}

__global__ void list_rows(const __grid_constant__ tiles_args t, uint32_t lane_groups, uint64_t *row,
                          uint32_t *number)
{
    const uint64_t run = static_cast<uint64_t>(blockIdx.x) * SUM_THREADS + threadIdx.x;
    if (run >= t.mttkrp.chunks * lane_groups)
        return;
    const uint32_t first = t.first_partial[run];
    each_sum(t, lane_groups, run, [&](uint32_t k, uint32_t r) {
        row[first + k] = r;
        number[first + k] = first + k;
    });
}

/* begin[r] = the first of the sorted rows that is r or larger. */
__global__ void begin_rows(const uint64_t *row, uint64_t count, uint32_t *begin, uint64_t rows)
{
    const uint64_t i = static_cast<uint64_t>(blockIdx.x) * SUM_THREADS + threadIdx.x;
    if (i > count)
        return;
    const uint64_t from = i == 0 ? 0 : row[i - 1] + 1, to = i == count ? rows : row[i];
    for (uint64_t r = from; r <= to; r++)
        begin[r] = static_cast<uint32_t>(i);
}

} // namespace

cudaError_t tile_sums_count(const tiles_args *args, uint32_t *count, cudaStream_t stream)
{
    const uint32_t lane_groups = tiles_lane_groups(args->mttkrp.vectors);
    return launch_kernel(count_sums, thread_blocks(args->mttkrp.chunks * lane_groups, SUM_THREADS),
                         SUM_THREADS, stream, *args, lane_groups, count);
}

cudaError_t tile_sums_list_rows(const tiles_args *args, uint64_t *row, uint32_t *number,
                                cudaStream_t stream)
{
    const uint32_t lane_groups = tiles_lane_groups(args->mttkrp.vectors);
    return launch_kernel(list_rows, thread_blocks(args->mttkrp.chunks * lane_groups, SUM_THREADS),
                         SUM_THREADS, stream, *args, lane_groups, row, number);
}

cudaError_t tile_sums_begin_rows(const uint64_t *row, uint64_t count, uint32_t *begin,
                                 uint64_t rows, cudaStream_t stream)
{
    return launch_kernel(begin_rows, thread_blocks(count + 1, SUM_THREADS), SUM_THREADS, stream,
                         row, count, begin, rows);
}

cudaError_t tile_sums_add(const tiles_args *args, cudaStream_t stream)
{
    const uint32_t columns = tile_panel(args->mttkrp.vectors);
    const uint64_t each = args->partials / args->rows / PARTIALS_OF_A_THREAD;
    uint32_t slices = 1; /* that leave a thread about so many partial sums, or a few of them */
    while (2 * slices <= each && 2 * slices * columns <= SUM_THREADS)
        slices *= 2;
    const dim3 blocks(thread_blocks(args->rows, SUM_THREADS / (columns * slices)),
                      tiles_panels(args->mttkrp.vectors));
    return launch_kernel(IN_PRECISION(args->mttkrp.precision, add_partials), blocks, SUM_THREADS,
                         stream, *args, columns, slices);
}
