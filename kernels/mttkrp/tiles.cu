/* One thread block a multiprocessor walks over its span of the line, chunk by chunk; a chunk lies
 * in one tile. Each lane group sums a run of the chunk in registers, a row of M at a time. The
 * lanes of a group read the indices and values of as many nonzeros at once, and hand them round. */
#include "kernels/mttkrp/tiles.h"

#include <cuda_pipeline_primitives.h>

#include "kernels/mttkrp/chunk_nonzeros.cuh"
#include "kernels/mttkrp/row_sums.cuh"
#include "numerics/thread_blocks.cuh"
#include "numerics/vector.cuh"

namespace
{

constexpr uint32_t TILE_THREADS = 512;
constexpr uint32_t SUM_THREADS = 256;

/* How a row is dealt to the lanes of a group: a panel has LANES * WIDTH vectors of it. */
template <int LANES, int WIDTH> struct panel {
    static constexpr uint32_t VECTORS = LANES * WIDTH;
    static constexpr uint32_t BYTES = VECTORS * VECTOR_BYTES;
    static constexpr uint32_t ROWS = TILE_BYTES / BYTES;
    static constexpr uint32_t LANE_GROUPS = TILE_THREADS / LANES;
};

/* The nonzeros [begin, end) of a chunk that one lane group works on: even numbers of them. */
__host__ __device__ __forceinline__ uint32_t run_length(uint32_t count, uint32_t lane_groups)
{
    return ((count + lane_groups - 1) / lane_groups + 1) & ~1u;
}

/* Nonzeros whose rows are gathered together; more in flight would not fit into the registers. */
template <int GATHERS> constexpr int at_once = GATHERS >= 1 && GATHERS <= 2 ? 4 : 2;

/* The first row of the tile that a chunk lies in. */
__device__ __forceinline__ uint32_t tile_of(const mttkrp_args &a, const mttkrp_chunk &c)
{
    uint32_t mode = a.gather[a.gathers - 1].field.mode;
    return a.base ? __ldg(a.base + static_cast<uint64_t>(c.block) * MAX_ORDER + mode) : 0;
}

/* This panel of rows [first, first + ROWS) of the tiled factor matrix into shared memory. */
template <typename P, typename V>
__device__ __forceinline__ void load_tile(V *tile, const tiles_args &t, uint32_t first,
                                          uint32_t first_vector)
{
    const mttkrp_args &a = t.mttkrp;
    const V *rows = static_cast<const V *>(a.gather[a.gathers - 1].rows);
    uint32_t count =
        static_cast<uint32_t>(min(static_cast<uint64_t>(P::ROWS), t.tiled_rows - first));
    for (uint32_t k = threadIdx.x; k < count * P::VECTORS; k += TILE_THREADS) {
        uint32_t row = k / P::VECTORS, column = min(first_vector + k % P::VECTORS, a.vectors - 1);
        __pipeline_memcpy_async(
            tile + k, rows + static_cast<uint64_t>(first + row) * a.vectors + column, sizeof(V));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
}

/* A lane's part of a run: the products of gathered rows, summed until the output row changes. */
template <typename T, int GATHERS, int LANES, int WIDTH> struct run_sums {
    using V = vector<T>;
    using P = panel<LANES, WIDTH>;
    static constexpr int FAR = GATHERS > 1 ? GATHERS - 1 : 1; /* gathers from global memory */
    const mttkrp_args &a;
    const V *tile;
    uint32_t in_panel;      /* this lane's first vector in a row of the panel */
    uint32_t column[WIDTH]; /* its vectors in a row of a factor matrix        */
    V *to;                  /* where the present row's sum goes               */
    uint32_t row;
    V sum[WIDTH];

    /* Neighbouring groups of four lanes read different halves of their rows of the tile at a time,
     * that is, different banks. */
    __device__ __forceinline__ run_sums(const mttkrp_args &args, const V *shared)
        : a(args), tile(shared), row(NO_ROW)
    {
        in_panel = threadIdx.x % LANES;
        if (LANES < 8)
            in_panel += threadIdx.x / LANES % WIDTH * LANES;
#pragma unroll
        for (int v = 0; v < WIDTH; v++)
            column[v] = min(wanted(v), a.vectors - 1);
    }

    __device__ __forceinline__ uint32_t vector_in_panel(int v) const
    {
        return in_panel ^ static_cast<uint32_t>(v * LANES);
    }

    /* The row may end before it. */
    __device__ __forceinline__ uint32_t wanted(int v) const
    {
        return blockIdx.y * P::VECTORS + vector_in_panel(v);
    }

    __device__ __forceinline__ void store()
    {
        if (row == NO_ROW)
            return;
#pragma unroll
        for (int v = 0; v < WIDTH; v++)
            if (wanted(v) < a.vectors)
                __stcg(to + column[v], sum[v]);
        to += a.vectors;
    }

    __device__ __forceinline__ void move_to(uint32_t next)
    {
        store();
        row = next;
#pragma unroll
        for (int v = 0; v < WIDTH; v++)
            sum[v] = splat<V>(0);
    }

    __device__ __forceinline__ V far_row(int g, index_words<GATHERS> index, int v) const
    {
        const mttkrp_gather &gather = a.gather[g];
        uint32_t i = coordinate<GATHERS>(gather.field, index, 0);
        const V *rows = static_cast<const V *>(gather.rows) + column[v];
        return __ldg(row_of(rows, i, a.vectors * VECTOR_BYTES));
    }

    __device__ __forceinline__ V near_row(index_words<GATHERS> index, int v) const
    {
        uint32_t i = coordinate<GATHERS>(a.gather[a.gathers - 1].field, index, 0);
        return tile[i * P::VECTORS + vector_in_panel(v)];
    }

    /* Rows ascend: if the last nonzero is in the present row, all are. */
    template <int SIZE>
    __device__ __forceinline__ void add(const index_words<GATHERS> (&index)[SIZE],
                                        const T (&value)[SIZE])
    {
        V product[SIZE][WIDTH], far[FAR][SIZE][WIDTH];
        uint32_t output[SIZE];
#pragma unroll
        for (int u = 0; u < SIZE; u++)
            output[u] = coordinate<GATHERS>(a.output, index[u], 0);
        if constexpr (GATHERS > 1) {
#pragma unroll
            for (int g = 0; g < GATHERS - 1; g++)
#pragma unroll
                for (int u = 0; u < SIZE; u++)
#pragma unroll
                    for (int v = 0; v < WIDTH; v++)
                        far[g][u][v] = far_row(g, index[u], v);
        }
#pragma unroll
        for (int u = 0; u < SIZE; u++)
#pragma unroll
            for (int v = 0; v < WIDTH; v++) {
                product[u][v] = near_row(index[u], v);
                if constexpr (GATHERS == ANY)
                    for (int g = 0; g < a.gathers - 1; g++)
                        product[u][v] = product[u][v] * far_row(g, index[u], v);
                if constexpr (GATHERS > 1)
#pragma unroll
                    for (int g = 0; g < GATHERS - 1; g++)
                        product[u][v] = product[u][v] * far[g][u][v];
            }
        const bool same_row = output[SIZE - 1] == row;
#pragma unroll
        for (int u = 0; u < SIZE; u++) {
            if (!same_row && output[u] != row)
                move_to(output[u]);
#pragma unroll
            for (int v = 0; v < WIDTH; v++)
                sum[v] = multiply_add(value[u], product[u][v], sum[v]);
        }
    }
};

/* The nonzero that lane `from` of the group has read. */
template <int LANES, typename X>
__device__ __forceinline__ X handed_round(uint32_t group_mask, X x, int from)
{
    return __shfl_sync(group_mask, x, from, LANES);
}

template <int LANES, int GATHERS>
__device__ __forceinline__ index_words<GATHERS> handed_round(uint32_t group_mask,
                                                             index_words<GATHERS> x, int from)
{
    index_words<GATHERS> y;
#pragma unroll
    for (int w = 0; w < (is_wide<GATHERS> ? 2 : 1); w++)
        y.word[w] = __shfl_sync(group_mask, x.word[w], from, LANES);
    return y;
}

/* Adds the nonzeros [begin, end) of a chunk. */
template <typename T, int GATHERS, int LANES, int WIDTH>
__device__ __forceinline__ void add_run(const global_chunk<T, GATHERS> &chunk, uint32_t begin,
                                        uint32_t end, run_sums<T, GATHERS, LANES, WIDTH> &sums)
{
    constexpr int SIZE = at_once<GATHERS>;
    const uint32_t lane = threadIdx.x % LANES;
    const uint32_t mask = ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES);
    index_words<GATHERS> next_index = {};
    T next_value = 0;
    if (begin + lane < end) {
        next_index = chunk.index_at(begin + lane);
        next_value = chunk.value_at(begin + lane);
    }
    for (uint32_t i = begin; i < end; i += LANES) {
        const index_words<GATHERS> index = next_index;
        const T value = next_value;
        if (i + LANES + lane < end) {
            next_index = chunk.index_at(i + LANES + lane);
            next_value = chunk.value_at(i + LANES + lane);
        }
        if (i + LANES <= end) {
#pragma unroll
            for (int k = 0; k < LANES; k += SIZE) {
                index_words<GATHERS> batch_index[SIZE];
                T batch_value[SIZE];
#pragma unroll
                for (int u = 0; u < SIZE; u++) {
                    batch_index[u] = handed_round<LANES, GATHERS>(mask, index, k + u);
                    batch_value[u] = handed_round<LANES>(mask, value, k + u);
                }
                sums.add(batch_index, batch_value);
            }
        } else {
            for (uint32_t k = 0; k < end - i; k++) {
                index_words<GATHERS> one_index[1] = {
                    handed_round<LANES, GATHERS>(mask, index, static_cast<int>(k))};
                T one_value[1] = {handed_round<LANES>(mask, value, static_cast<int>(k))};
                sums.add(one_index, one_value);
            }
        }
    }
}

template <typename T, int GATHERS, int LANES, int WIDTH>
__global__ void __launch_bounds__(TILE_THREADS, 1) add_tiles(const __grid_constant__ tiles_args t)
{
    using V = vector<T>;
    using P = panel<LANES, WIDTH>;
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    V *tile = reinterpret_cast<V *>(shared_bytes);
    const mttkrp_args &a = t.mttkrp;
    const uint32_t lane_group = threadIdx.x / LANES;
    run_sums<T, GATHERS, LANES, WIDTH> sums(a, tile);
    const global_chunk<T, GATHERS> all{{a.index[0], a.index[1]}, a.value, a.wide_values != 0};
    uint32_t loaded = NO_ROW;
    for (uint32_t k = __ldg(t.span + blockIdx.x); k < __ldg(t.span + blockIdx.x + 1); k++) {
        const mttkrp_chunk c = a.chunk[k];
        const uint32_t first = tile_of(a, c);
        if (first != loaded) {
            __syncthreads();
            load_tile<P>(tile, t, first, blockIdx.y * P::VECTORS);
            loaded = first;
            __syncthreads();
        }
        const uint32_t run = run_length(c.count, P::LANE_GROUPS);
        const uint32_t begin = min(lane_group * run, c.count), end = min(begin + run, c.count);
        const uint64_t run_number = static_cast<uint64_t>(k) * P::LANE_GROUPS + lane_group;
        sums.to = static_cast<V *>(t.partial) +
                  static_cast<uint64_t>(t.first_partial[run_number]) * a.vectors;
        sums.row = NO_ROW;
        add_run<T, GATHERS, LANES, WIDTH>(all.from(c.first), begin, end, sums);
        sums.store();
    }
}

/* Row r of M = the sum of its partial sums. A thread has one vector of a row. */
template <typename T>
__global__ void __launch_bounds__(SUM_THREADS) add_partials(const __grid_constant__ tiles_args t)
{
    using V = vector<T>;
    const uint32_t vectors = t.mttkrp.vectors;
    const uint64_t i = static_cast<uint64_t>(blockIdx.x) * SUM_THREADS + threadIdx.x;
    const uint64_t row = i / vectors, column = i % vectors;
    if (row >= t.rows)
        return;
    const V *partial = static_cast<const V *>(t.partial) + column;
    V sum = splat<V>(0);
    for (uint32_t k = __ldg(t.row_begin + row), end = __ldg(t.row_begin + row + 1); k < end; k++)
        sum = sum + __ldcs(partial + static_cast<uint64_t>(__ldg(t.row_partial + k)) * vectors);
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
        index_words<ANY> index;
        index.word[0] = __ldg(a.index[0] + c.first + i);
        index.word[1] = a.index[1] ? __ldg(a.index[1] + c.first + i) : 0;
        const uint32_t next = coordinate<ANY>(a.output, index, 0);
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

/* The only list of specialisations. */
struct tile_kernel {
    const void *add, *sum;
    uint32_t panel_vectors, lane_groups;
};

template <typename T, int GATHERS, int LANES, int WIDTH> tile_kernel instance()
{
    return {reinterpret_cast<const void *>(add_tiles<T, GATHERS, LANES, WIDTH>),
            reinterpret_cast<const void *>(add_partials<T>), panel<LANES, WIDTH>::VECTORS,
            panel<LANES, WIDTH>::LANE_GROUPS};
}

template <typename T, int GATHERS> tile_kernel choose_panel(uint32_t vectors)
{
    if (vectors <= 4)
        return instance<T, GATHERS, 4, 1>();
    if (vectors <= 8)
        return instance<T, GATHERS, 4, 2>();
    return instance<T, GATHERS, 8, 2>();
}

template <typename T> tile_kernel choose_gathers(const mttkrp_args &a)
{
    switch (a.index[1] ? ANY : a.gathers) {
    case 1:
        return choose_panel<T, 1>(a.vectors);
    case 2:
        return choose_panel<T, 2>(a.vectors);
    case 3:
        return choose_panel<T, 3>(a.vectors);
    case 4:
        return choose_panel<T, 4>(a.vectors);
    default:
        return choose_panel<T, ANY>(a.vectors);
    }
}

tile_kernel choose_kernel(const mttkrp_args &a)
{
    return a.precision == PRECISION_SINGLE ? choose_gathers<float>(a) : choose_gathers<double>(a);
}

} // namespace

extern "C" uint32_t tiles_lane_groups(uint32_t vectors)
{
    return TILE_THREADS / (vectors <= 8 ? 4 : 8);
}

extern "C" uint32_t tiles_panels(uint32_t vectors)
{
    return (vectors + tile_panel(vectors) - 1) / tile_panel(vectors);
}

extern "C" cudaError_t tiles_count(const tiles_args *args, uint32_t *count, cudaStream_t stream)
{
    const uint32_t lane_groups = tiles_lane_groups(args->mttkrp.vectors);
    count_sums<<<thread_blocks(args->mttkrp.chunks * lane_groups, SUM_THREADS), SUM_THREADS, 0,
                 stream>>>(*args, lane_groups, count);
    return cudaGetLastError();
}

extern "C" cudaError_t tiles_list_rows(const tiles_args *args, uint64_t *row, uint32_t *number,
                                       cudaStream_t stream)
{
    const uint32_t lane_groups = tiles_lane_groups(args->mttkrp.vectors);
    list_rows<<<thread_blocks(args->mttkrp.chunks * lane_groups, SUM_THREADS), SUM_THREADS, 0,
                stream>>>(*args, lane_groups, row, number);
    return cudaGetLastError();
}

extern "C" cudaError_t tiles_begin_rows(const uint64_t *row, uint64_t count, uint32_t *begin,
                                        uint64_t rows, cudaStream_t stream)
{
    begin_rows<<<thread_blocks(count + 1, SUM_THREADS), SUM_THREADS, 0, stream>>>(row, count, begin,
                                                                                  rows);
    return cudaGetLastError();
}

extern "C" cudaError_t tiles_prepare(const tiles_args *args)
{
    const tile_kernel kernel = choose_kernel(args->mttkrp);
    return cudaFuncSetAttribute(kernel.add, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                TILE_BYTES);
}

extern "C" cudaError_t tiles_launch(const tiles_args *args, cudaStream_t stream)
{
    const tile_kernel kernel = choose_kernel(args->mttkrp);
    void *parameters[] = {const_cast<tiles_args *>(args)};
    cudaError_t code =
        cudaLaunchKernel(kernel.add, dim3(args->spans, tiles_panels(args->mttkrp.vectors)),
                         dim3(TILE_THREADS), parameters, TILE_BYTES, stream);
    if (code != cudaSuccess)
        return code;
    return cudaLaunchKernel(kernel.sum,
                            dim3(thread_blocks(args->rows * args->mttkrp.vectors, SUM_THREADS)),
                            dim3(SUM_THREADS), parameters, 0, stream);
}
