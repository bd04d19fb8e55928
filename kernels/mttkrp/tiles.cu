/* One thread block a multiprocessor walks over its range of the line, chunk by chunk; a chunk lies
 * in one block. Each lane group sums a run of the chunk in registers, a row of M at a time. The
 * lanes of a group read the indices and values of as many nonzeros at once, and hand them round. */
#include "kernels/mttkrp/tiles.h"

#include <type_traits>

#include <cuda_pipeline_primitives.h>

#include "kernels/mttkrp/row_sums.cuh"
#include "kernels/mttkrp/tile_runs.cuh"
#include "numerics/vector.cuh"
#include "numerics/unrolled.cuh"

namespace
{

constexpr uint32_t TILE_THREADS = 512;
constexpr uint32_t WARP = 0xffffffffu;
constexpr int ANY = -1; /* gathers counted at run time */

/* How a row is dealt to the lanes of a group: a panel has LANES * WIDTH vectors of it. */
template <int LANES, int WIDTH> struct panel {
    static constexpr uint32_t VECTORS = LANES * WIDTH;
    static constexpr uint32_t BYTES = VECTORS * VECTOR_BYTES;
    static constexpr uint32_t ROWS = TILE_BYTES / BYTES; /* of all tiled modes */
    static constexpr uint32_t LANE_GROUPS = TILE_THREADS / LANES;
};

/* Nonzeros whose rows are gathered together; more in flight would not fit into the registers. */
template <int GATHERS> constexpr int at_once = GATHERS >= 1 && GATHERS <= 3 ? 4 : 2;

/* This panel of rows [first, first + rows) of a tiled factor matrix into shared memory; not waited
 * for. */
template <typename P, typename V>
__device__ __forceinline__ void load_tile(V *tile, const mttkrp_gather &gather, uint32_t first,
                                          uint32_t rows, uint32_t vectors)
{
    const V *from = static_cast<const V *>(gather.rows) + static_cast<uint64_t>(first) * vectors;
    for (uint32_t k = threadIdx.x; k < rows * P::VECTORS; k += TILE_THREADS) {
        const uint32_t row = k / P::VECTORS;
        const uint32_t column = min(blockIdx.y * P::VECTORS + k % P::VECTORS, vectors - 1);
        __pipeline_memcpy_async(tile + k, from + static_cast<uint64_t>(row) * vectors + column,
                                sizeof(V));
    }
    __pipeline_commit();
}

/* The tiles of NEAR modes that are in shared memory: the first row of each. */
template <typename P, typename V, int NEAR> struct loaded_tiles {
    static constexpr uint32_t ROWS = P::ROWS / NEAR;
    uint32_t first[NEAR];

    __device__ __forceinline__ loaded_tiles()
    {
        EACH_UNROLLED(g, NEAR)
            first[g] = NO_ROW;
    }

    /* Loads the tiles of a chunk that are not there yet. */
    __device__ __forceinline__ void load(V *tile, const tiles_args &t, const mttkrp_chunk &c)
    {
        const mttkrp_args &a = t.mttkrp;
        uint32_t wanted[NEAR];
        bool there = true;
        EACH_UNROLLED(g, NEAR) {
            const int mode = a.gather[a.gathers - NEAR + g].field.mode;
            wanted[g] =
                a.base ? __ldg(a.base + static_cast<uint64_t>(c.block) * MAX_ORDER + mode) : 0;
            there = there && wanted[g] == first[g];
        }
        if (there)
            return;
        __syncthreads();
        EACH_UNROLLED(g, NEAR)
            if (wanted[g] != first[g]) {
                const uint64_t left = t.tiled_rows[g] - wanted[g];
                load_tile<P>(tile + g * ROWS * P::VECTORS, a.gather[a.gathers - NEAR + g],
                             wanted[g], left < ROWS ? static_cast<uint32_t>(left) : ROWS,
                             a.vectors);
                first[g] = wanted[g];
            }
        __pipeline_wait_prior(0);
        __syncthreads();
    }
};

/* A nonzero as it is stored: its value becomes a T where it is used, so that no load is waited for
 * where it is made. */
template <typename T> struct stored_nonzero {
    uint64_t index;
    T value;
    double wide_value;
};

/* The nonzeros of a chunk, whose values are of type T or doubles. */
template <typename T> struct nonzeros {
    const uint64_t *index;
    const void *value;
    bool wide;

    __device__ __forceinline__ nonzeros(const mttkrp_args &a, uint64_t first)
        : index(a.index[0] + first), wide(sizeof(T) < sizeof(double) && a.wide_values)
    {
        value = wide ? static_cast<const void *>(static_cast<const double *>(a.value) + first)
                     : static_cast<const T *>(a.value) + first;
    }

    /* Nonzero i of those before `end`, the last of them with value 0 where i is beyond. */
    __device__ __forceinline__ stored_nonzero<T> load(uint32_t i, uint32_t end) const
    {
        stored_nonzero<T> x;
        x.value = 0;
        x.wide_value = 0;
        x.index = __ldg(index + min(i, end - 1));
        if (i < end && !wide)
            x.value = __ldg(static_cast<const T *>(value) + i);
        if (i < end && wide)
            x.wide_value = __ldg(static_cast<const double *>(value) + i);
        return x;
    }

    __device__ __forceinline__ T value_of(const stored_nonzero<T> &x) const
    {
        return wide ? static_cast<T>(x.wide_value) : x.value;
    }
};

/* The part of an index that says which rows are gathered: with few gathers, 32 bits hold it. */
template <int GATHERS>
using gather_bits =
    typename std::conditional<GATHERS == 1 || GATHERS == 2, uint32_t, uint64_t>::type;

/* Nonzeros that are worked on together, with the rows that are gathered for them from global
 * memory. */
template <typename T, int GATHERS, int FAR, int WIDTH> struct batch {
    static constexpr int SIZE = at_once<GATHERS>;
    static constexpr bool NARROW = sizeof(gather_bits<GATHERS>) < sizeof(uint64_t);
    uint32_t own_row; /* of M, of the nonzero that this lane has read          */
    uint32_t first;   /* the lane that has read the first nonzero of the batch */
    gather_bits<GATHERS> index[SIZE];
    T value[SIZE];
    vector<T> far[FAR > 1 ? FAR : 1][SIZE][WIDTH];
};

/* A lane's part of a run: the products of gathered rows, summed until the output row changes. */
template <typename T, int GATHERS, int NEAR, int LANES, int WIDTH> struct run_sums {
    using V = vector<T>;
    using P = panel<LANES, WIDTH>;
    static constexpr int FAR = GATHERS - NEAR; /* gathers from global memory; below 0: any number */
    using B = batch<T, GATHERS, FAR, WIDTH>;
    const mttkrp_args &a;
    const V *near;          /* this lane's first vector in row 0 of the tile  */
    uint32_t column[WIDTH]; /* its vectors in a row of a factor matrix        */
    bool active[WIDTH];     /* false where the row ends before                */
    V *to;                  /* where the present row's sum goes               */
    uint32_t row;
    V sum[WIDTH];

    __device__ __forceinline__ run_sums(const mttkrp_args &args, const V *tile)
        : a(args), near(tile + threadIdx.x % LANES), row(NO_ROW)
    {
        EACH_UNROLLED(v, WIDTH) {
            const uint32_t wanted = blockIdx.y * P::VECTORS + v * LANES + threadIdx.x % LANES;
            active[v] = wanted < a.vectors;
            column[v] = min(wanted, a.vectors - 1);
        }
    }

    __device__ __forceinline__ void store()
    {
        if (row == NO_ROW)
            return;
        EACH_UNROLLED(v, WIDTH)
            if (active[v])
                __stcg(to + column[v], sum[v]);
        to += a.vectors;
    }

    __device__ __forceinline__ void move_to(uint32_t next)
    {
        store();
        row = next;
        EACH_UNROLLED(v, WIDTH)
            sum[v] = splat<V>(0);
    }

    __device__ __forceinline__ V far_row(int g, gather_bits<GATHERS> index, int v) const
    {
        const V *rows = static_cast<const V *>(a.gather[g].rows) + column[v];
        return __ldg(row_of(rows, coordinate(a.gather[g].field, index), a.vectors * VECTOR_BYTES));
    }

    /* Of the last gathers, whose rows are in shared memory, gather g. */
    __device__ __forceinline__ V near_row(int g, gather_bits<GATHERS> index, int v) const
    {
        const int gathers = GATHERS == ANY ? a.gathers : GATHERS;
        const uint32_t i = coordinate(a.gather[gathers - NEAR + g].field, index);
        return near[(i + g * (P::ROWS / NEAR)) * P::VECTORS + v * LANES];
    }

    /* b = the nonzeros that lane k of the group and those after it have read. */
    __device__ __forceinline__ void gather(B &b, uint64_t index, T value, uint32_t k) const
    {
        EACH_UNROLLED(u, B::SIZE) {
            b.index[u] = __shfl_sync(WARP, static_cast<gather_bits<GATHERS>>(index), k + u, LANES);
            b.value[u] = __shfl_sync(WARP, value, k + u, LANES);
        }
        b.own_row = coordinate(a.output, index);
        b.first = k;
        EACH_UNROLLED(g, FAR)
            EACH_UNROLLED(u, B::SIZE)
                EACH_UNROLLED(v, WIDTH)
                    b.far[g][u][v] = far_row(g, b.index[u], v);
    }

    /* The product of the rows of nonzero u, but for its value, and for those of any number of far
     * gathers. */
    __device__ __forceinline__ V product_of(const B &b, int u, int v) const
    {
        V product = near_row(0, b.index[u], v);
        if constexpr (NEAR > 1)
            product = product * near_row(1, b.index[u], v);
        EACH_UNROLLED(g, FAR)
            product = product * b.far[g][u][v];
        return product;
    }

    /* The row of M of nonzero u. */
    __device__ __forceinline__ uint32_t output_of(const B &b, uint32_t u) const
    {
        if constexpr (B::NARROW)
            return __shfl_sync(WARP, b.own_row, b.first + u, LANES);
        else
            return coordinate(a.output, b.index[u]);
    }

    /* Whether any of these nonzeros is in another row than the present one. Rows ascend: it is
     * enough to look at the last; or each lane looks at the nonzero that it has read itself. */
    __device__ __forceinline__ bool has_other_row(const B &b) const
    {
        if constexpr (B::NARROW) {
            const bool in_batch = threadIdx.x % LANES / B::SIZE * B::SIZE == b.first;
            return __any_sync(WARP, in_batch && b.own_row != row);
        } else {
            return __any_sync(WARP, output_of(b, B::SIZE - 1) != row);
        }
    }

    __device__ __forceinline__ void add(const B &b)
    {
        V product[B::SIZE][WIDTH];
        EACH_UNROLLED(u, B::SIZE)
            EACH_UNROLLED(v, WIDTH)
                product[u][v] = product_of(b, u, v);
        if constexpr (GATHERS == ANY)
#pragma unroll 1
            for (int g = 0; g < a.gathers - NEAR; g++)
                EACH_UNROLLED(u, B::SIZE)
                    EACH_UNROLLED(v, WIDTH)
                        product[u][v] = product[u][v] * far_row(g, b.index[u], v);
        if (!has_other_row(b)) {
            EACH_UNROLLED(u, B::SIZE)
                EACH_UNROLLED(v, WIDTH)
                    sum[v] = multiply_add(b.value[u], product[u][v], sum[v]);
            return;
        }
        uint32_t output[B::SIZE];
        EACH_UNROLLED(u, B::SIZE)
            output[u] = output_of(b, u);
        EACH_UNROLLED(u, B::SIZE) {
            if (output[u] != row)
                move_to(output[u]);
            EACH_UNROLLED(v, WIDTH)
                sum[v] = multiply_add(b.value[u], product[u][v], sum[v]);
        }
    }
};

/* Adds the nonzeros [begin, end) of a chunk, in as many steps as any other run of the chunk takes,
 * so that all lanes of a warp hand nonzeros round together. Where the registers have room, the rows
 * of the next nonzeros are gathered before those that are there are added. */
template <typename T, int GATHERS, int NEAR, int LANES, int WIDTH>
__device__ __forceinline__ void add_run(const nonzeros<T> &chunk, uint32_t begin, uint32_t end,
                                        uint32_t run,
                                        run_sums<T, GATHERS, NEAR, LANES, WIDTH> &sums)
{
    using B = typename run_sums<T, GATHERS, NEAR, LANES, WIDTH>::B;
    constexpr bool ahead = WIDTH == 1 && GATHERS > NEAR;
    const uint32_t lane = threadIdx.x % LANES;
    stored_nonzero<T> next = chunk.load(begin + lane, end);
    uint64_t index = next.index;
    T value = chunk.value_of(next);
    next = chunk.load(begin + LANES + lane, end);
    B present, following;
    if constexpr (ahead)
        sums.gather(present, index, value, 0);
    for (uint32_t i = 0; i < run; i += LANES) {
#pragma unroll
        for (uint32_t k = 0; k < LANES; k += B::SIZE) {
            if constexpr (!ahead)
                sums.gather(present, index, value, k);
            if (k + B::SIZE == LANES) {
                index = next.index;
                value = chunk.value_of(next);
                next = chunk.load(begin + i + 2 * LANES + lane, end);
            }
            if constexpr (ahead)
                sums.gather(following, index, value, (k + B::SIZE) % LANES);
            sums.add(present);
            if constexpr (ahead)
                present = following;
        }
    }
}

template <typename T, int GATHERS, int NEAR, int LANES, int WIDTH>
__global__ void __launch_bounds__(TILE_THREADS, 1) add_tiles(const __grid_constant__ tiles_args t)
{
    using V = vector<T>;
    using P = panel<LANES, WIDTH>;
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    V *tile = reinterpret_cast<V *>(shared_bytes);
    const mttkrp_args &a = t.mttkrp;
    const uint32_t lane_group = threadIdx.x / LANES;
    run_sums<T, GATHERS, NEAR, LANES, WIDTH> sums(a, tile);
    loaded_tiles<P, V, NEAR> tiles;
    for (uint32_t k = __ldg(t.range + blockIdx.x); k < __ldg(t.range + blockIdx.x + 1); k++) {
        const mttkrp_chunk c = a.chunk[k];
        tiles.load(tile, t, c);
        const uint32_t run = run_length(c.count, P::LANE_GROUPS);
        const uint32_t begin = lane_group * run, end = min(begin + run, c.count);
        const uint64_t run_number = static_cast<uint64_t>(k) * P::LANE_GROUPS + lane_group;
        sums.to = static_cast<V *>(t.partial) +
                  static_cast<uint64_t>(t.first_partial[run_number]) * a.vectors;
        sums.row = NO_ROW;
        add_run<T, GATHERS, NEAR, LANES, WIDTH>(nonzeros<T>(a, c.first), begin, end, run, sums);
        if (begin < end)
            sums.store();
    }
}

/* The only list of specialisations. */
using tile_kernel = void (*)(tiles_args);

template <typename T, int GATHERS, int NEAR> tile_kernel choose_panel(uint32_t vectors)
{
    if (vectors <= 4)
        return add_tiles<T, GATHERS, NEAR, 4, 1>;
    if (vectors <= 8)
        return add_tiles<T, GATHERS, NEAR, 8, 1>;
    return add_tiles<T, GATHERS, NEAR, 8, 2>;
}

template <typename T, int NEAR> tile_kernel choose_gathers(const mttkrp_args &a)
{
    uint64_t bits = 0; /* of an index, the fields of all gathers */
    for (int g = 0; g < a.gathers; g++)
        bits |= static_cast<uint64_t>(a.gather[g].field.mask) << a.gather[g].field.shift;
    switch (a.gathers > 2 || bits <= UINT32_MAX ? a.gathers : ANY) {
    case 1:
        return choose_panel<T, 1, 1>(a.vectors);
    case 2:
        return choose_panel<T, 2, NEAR>(a.vectors);
    case 3:
        return choose_panel<T, 3, NEAR>(a.vectors);
    case 4:
        return choose_panel<T, 4, NEAR>(a.vectors);
    default:
        return choose_panel<T, ANY, NEAR>(a.vectors);
    }
}

tile_kernel choose_kernel(const tiles_args &t)
{
    const mttkrp_args &a = t.mttkrp;
    if (a.precision == PRECISION_SINGLE)
        return t.tiled_modes == 1 ? choose_gathers<float, 1>(a) : choose_gathers<float, 2>(a);
    return t.tiled_modes == 1 ? choose_gathers<double, 1>(a) : choose_gathers<double, 2>(a);
}

} // namespace

uint32_t tiles_lane_groups(uint32_t vectors)
{
    return TILE_THREADS / (vectors <= 4 ? 4 : 8);
}

uint32_t tiles_panels(uint32_t vectors)
{
    return (vectors + tile_panel(vectors) - 1) / tile_panel(vectors);
}

cudaError_t tiles_launch(const tiles_args *args, cudaStream_t stream)
{
    const tile_kernel kernel = choose_kernel(*args);
    const dim3 blocks(args->ranges, tiles_panels(args->mttkrp.vectors));
    CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, TILE_BYTES));
    kernel<<<blocks, TILE_THREADS, TILE_BYTES, stream>>>(*args);
    return cudaGetLastError();
}
