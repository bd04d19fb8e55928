#include "kernels/mttkrp/tile_sums.h"

#include "kernels/mttkrp/row_sums.cuh"
#include "kernels/mttkrp/tile_runs.cuh"
#include "numerics/thread_blocks.cuh"
#include "numerics/vector.cuh"

namespace
{

constexpr uint32_t SUM_THREADS = 256;
constexpr uint32_t PARTIALS_OF_A_THREAD = 16;

/* Row r of M = the sum of its partial sums. `slices` groups of threads take every slices-th of
 * them, a thread of each group one of `columns` neighbouring vectors; then the sums of the slices
 * are added. */
template <typename T>
__global__ void __launch_bounds__(SUM_THREADS)
    add_partials(const __grid_constant__ tiles_args t, uint32_t columns, uint32_t slices)
{
    using V = vector<T>;
    __shared__ V slice_sum[SUM_THREADS];
    const uint32_t vectors = t.mttkrp.vectors, rows = SUM_THREADS / (columns * slices);
    const uint32_t slice = threadIdx.x / columns % slices;
    const uint32_t column = blockIdx.y * columns + threadIdx.x % columns;
    const uint64_t row =
        static_cast<uint64_t>(blockIdx.x) * rows + threadIdx.x / (columns * slices);
    const bool active = row < t.rows && column < vectors;
    V sum = splat<V>(0);
    if (active) {
        const V *partial = static_cast<const V *>(t.partial) + column;
        const uint32_t end = __ldg(t.row_begin + row + 1);
#pragma unroll 4
        for (uint32_t k = __ldg(t.row_begin + row) + slice; k < end; k += slices)
            sum = sum + __ldcs(partial + static_cast<uint64_t>(__ldg(t.row_partial + k)) * vectors);
    }
    slice_sum[threadIdx.x] = sum;
    __syncthreads();
    if (!active || slice > 0)
        return;
    for (uint32_t s = 1; s < slices; s++)
        sum = sum + slice_sum[threadIdx.x + s * columns];
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

/* As many slices as leave a thread about so many partial sums of a row, or a few of them. */
uint32_t slices_of(const tiles_args &t, uint32_t columns)
{
    const uint64_t each = t.partials / t.rows / PARTIALS_OF_A_THREAD;
    uint32_t slices = 1;
    while (2 * slices <= each && 2 * slices * columns <= SUM_THREADS)
        slices *= 2;
    return slices;
}

} // namespace

extern "C" cudaError_t tile_sums_count(const tiles_args *args, uint32_t *count, cudaStream_t stream)
{
    const uint32_t lane_groups = tiles_lane_groups(args->mttkrp.vectors);
    count_sums<<<thread_blocks(args->mttkrp.chunks * lane_groups, SUM_THREADS), SUM_THREADS, 0,
                 stream>>>(*args, lane_groups, count);
    return cudaGetLastError();
}

extern "C" cudaError_t tile_sums_list_rows(const tiles_args *args, uint64_t *row, uint32_t *number,
                                           cudaStream_t stream)
{
    const uint32_t lane_groups = tiles_lane_groups(args->mttkrp.vectors);
    list_rows<<<thread_blocks(args->mttkrp.chunks * lane_groups, SUM_THREADS), SUM_THREADS, 0,
                stream>>>(*args, lane_groups, row, number);
    return cudaGetLastError();
}

extern "C" cudaError_t tile_sums_begin_rows(const uint64_t *row, uint64_t count, uint32_t *begin,
                                            uint64_t rows, cudaStream_t stream)
{
    begin_rows<<<thread_blocks(count + 1, SUM_THREADS), SUM_THREADS, 0, stream>>>(row, count, begin,
                                                                                  rows);
    return cudaGetLastError();
}

extern "C" cudaError_t tile_sums_add(const tiles_args *args, cudaStream_t stream)
{
    const uint32_t columns = tile_panel(args->mttkrp.vectors), slices = slices_of(*args, columns);
    const dim3 blocks(thread_blocks(args->rows, SUM_THREADS / (columns * slices)),
                      tiles_panels(args->mttkrp.vectors));
    const auto kernel =
        args->mttkrp.precision == PRECISION_SINGLE ? add_partials<float> : add_partials<double>;
    kernel<<<blocks, SUM_THREADS, 0, stream>>>(*args, columns, slices);
    return cudaGetLastError();
}
