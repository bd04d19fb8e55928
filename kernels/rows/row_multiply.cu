/* Rows of counts that take a multiplicative step need only b of their systems, and q: a lane group
 * walks over a chunk, sums them in registers, and multiplies a row when it ends. */
#include "kernels/rows/row_groups.cuh"
#include "kernels/rows/row_systems.h"
#include "numerics/poisson_term.h"
#include "numerics/unrolled.cuh"

namespace
{

constexpr int BLOCKS = 4; /* of a processor at once: 128 registers a thread */

/* A part of a row that chunks share: the counts above 0, b, q. */
template <int COLUMNS> constexpr int part_length = 1 + 2 * COLUMNS;

/* Of all rows: of each component what struct row_common has, 0 beyond the rank; `unit` times a
 * count of 1. */
template <int COLUMNS> struct multiply_common {
    double now[COLUMNS], linear[COLUMNS], inverse[COLUMNS], out_scale[COLUMNS], unit[COLUMNS];

    /* By a whole thread block. */
    __device__ __forceinline__ void fill(const row_systems_args &a)
    {
        fill_common(now, a.common.now, a.rank);
        fill_common(linear, a.common.linear, a.rank);
        fill_common(inverse, a.common.inverse, a.rank);
        fill_common(out_scale, a.common.out_scale, a.rank);
        fill_common(unit, a.common.unit, a.rank, a.rules.count);
        __syncthreads();
    }
};

/* With GATHERS ANY, as where entries are weighed, q is summed, too. */
template <typename T, int GATHERS, int LANES> struct multiplier {
    static constexpr bool WEIGHED = GATHERS == ANY;
    using groups = row_groups<T, GATHERS, LANES>;
    static constexpr int COLUMNS = groups::COLUMNS;
    groups &g;
    const row_systems_args &a;
    const multiply_common<COLUMNS> &common;
    uint32_t chunk;
    bool head;            /* the present row begins before the chunk    */
    double x;             /* of the lane's nonzero: the count, perhaps unknown */
    uint32_t above;       /* bit i: the count of lane i is above 0     */
    uint32_t there;       /* bit i: lane i has a nonzero               */
    double c[AT_ONCE];    /* of a batch                                */
    double of_q[AT_ONCE]; /* ... q                                    */
    double b[ENTRIES], q[ENTRIES];
    int counts;       /* of the row, above 0 */
    double violation; /* of the chunk, times a count of 1 */

    __device__ __forceinline__ multiplier(groups &lane_groups, const multiply_common<COLUMNS> &all,
                                          uint32_t which, bool begun)
        : g(lane_groups), a(lane_groups.a), common(all), chunk(which), head(begun), violation(0)
    {
        clear();
    }

    __device__ __forceinline__ void clear()
    {
        counts = 0;
        EACH_UNROLLED(e, ENTRIES)
            b[e] = q[e] = 0;
    }

    __device__ __forceinline__ void begin_window()
    {
        x = g.here ? g.value : NAN;
        above = __ballot_sync(ALL, x > 0);
        if constexpr (WEIGHED)
            there = __ballot_sync(ALL, g.here);
    }

    __device__ __forceinline__ void take_values(int k, double m)
    {
        const int u = g.mine / groups::BATCHES;
        const double count = __shfl_sync(ALL, x, g.lane_of(k, u));
        const double h = WEIGHED && g.bit_of(there, k, u) ? a.rules.unlisted : 0;
        const struct poisson_term t = poisson_term(a.rules.kind, count, m, h);
        g.spread(t.c, c);
        if constexpr (WEIGHED)
            g.spread(t.q, of_q);
    }

    __device__ __forceinline__ void add(int k, int u, const double (&z)[ENTRIES])
    {
        counts += g.bit_of(above, k, u);
        EACH_UNROLLED(e, ENTRIES)
            b[e] = fma(c[u], z[e], b[e]);
        if constexpr (WEIGHED)
            EACH_UNROLLED(e, ENTRIES)
                q[e] = fma(of_q[u], z[e], q[e]);
    }

    __device__ __forceinline__ void end_window()
    {
    }

    __device__ __forceinline__ void end_row()
    {
        if (g.row == NO_ROW)
            return;
        if (head)
            write_part(part_of(2 * static_cast<uint64_t>(chunk)));
        else
            end_whole_row();
        head = false;
        clear();
    }

    /* The row's sums are all that this device has. */
    __device__ __forceinline__ void end_whole_row()
    {
        if (a.sent.part)
            write_part(a.sent.part + uint64_t{g.row - a.sent.first} * part_length<COLUMNS>);
        else
            write_row();
    }

    /* goes_on: the last row ends after the chunk. */
    __device__ __forceinline__ void end_chunk(bool goes_on)
    {
        if (goes_on && !head && g.row != NO_ROW)
            write_part(part_of(2 * static_cast<uint64_t>(chunk) + 1));
        else
            end_row();
    }

    __device__ __forceinline__ double *part_of(uint64_t number) const
    {
        return a.room.part + number * part_length<COLUMNS>;
    }

    __device__ __forceinline__ void write_part(double *to) const
    {
        if (g.mine == 0)
            *to = counts;
        EACH_UNROLLED(e, ENTRIES) {
            to[1 + g.component(e)] = b[e];
            to[1 + COLUMNS + g.component(e)] = q[e];
        }
    }

    /* The whole row of a join. */
    __device__ __forceinline__ void read_row(uint32_t which)
    {
        typename groups::piece fresh[groups::VECTORS];
        const row_join join = join_at(a, which);
        const double *from = part_of(join.first);
        g.row = join.row;
        g.load_old(fresh, g.row);
        counts = *from > 0;
        EACH_UNROLLED(e, ENTRIES) {
            g.old[e] = g.times_now(fresh, e);
            b[e] = from[1 + g.component(e)];
            q[e] = from[1 + COLUMNS + g.component(e)];
        }
    }

    /* The new entries; a row without counts is zero, a NaN stays. */
    __device__ __forceinline__ void multiply(double (&x)[ENTRIES])
    {
        EACH_UNROLLED(e, ENTRIES) {
            const uint32_t r = g.component(e);
            const double linear =
                WEIGHED && a.rules.weighed ? common.linear[r] + q[e] : common.linear[r];
            const double inverse =
                WEIGHED && a.rules.weighed ? inverse_or_zero(linear) : common.inverse[r];
            const double old = g.old[e] * common.out_scale[r];
            const double gradient = (linear - b[e]) * common.unit[r];
            const double violated = fabs(old < gradient ? old : gradient);
            const bool solves = counts > 0 && r < a.rank;
            x[e] = old * (inverse > 0 ? b[e] * inverse : 1);
            x[e] = !solves ? 0 : x[e] < a.rules.floor ? a.rules.floor : x[e];
            violation = solves && violated > violation ? violated : violation;
        }
    }

    __device__ __forceinline__ void write_row()
    {
        vector<T> *to =
            static_cast<vector<T> *>(a.mttkrp.m) + static_cast<uint64_t>(g.row) * a.mttkrp.vectors;
        double x[ENTRIES];
        multiply(x);
        EACH_UNROLLED(k, groups::VECTORS) {
            vector<T> v;
            EACH_UNROLLED(i, groups::WIDTH)
                reinterpret_cast<T *>(&v)[i] = static_cast<T>(x[k * groups::WIDTH + i]);
            if (g.vector_number(k) < a.mttkrp.vectors)
                __stcs(to + g.vector_number(k), v);
        }
    }

    __device__ __forceinline__ void write_totals(row_totals *to) const
    {
        double most = violation;
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2)
            most = fmax(most, __shfl_xor_sync(ALL, most, step));
        if (to && g.mine == 0)
            *to = {0, 0, 0, most / a.rules.count, 0};
    }
};

/* The chunk or the join of a lane group. */
template <int LANES> __device__ __forceinline__ uint32_t group_number()
{
    return (blockIdx.x * GROUP_THREADS + threadIdx.x) / LANES;
}

template <typename T, int GATHERS, int LANES>
__global__ void __launch_bounds__(GROUP_THREADS, BLOCKS)
    multiply_chunks(const __grid_constant__ row_systems_args a)
{
    __shared__ multiply_common<LANES * ENTRIES> common;
    const uint32_t chunk = group_number<LANES>();
    const bool there = chunk < a.chunks;
    row_groups<T, GATHERS, LANES> groups(a, common.now);
    multiplier<T, GATHERS, LANES> rows(groups, common, chunk, there && __ldg(a.continued + chunk));
    common.fill(a);
    groups.begin(there ? group_range{__ldg(a.chunk + chunk), __ldg(a.chunk + chunk + 1),
                                     __ldg(a.block + chunk)}
                       : group_range{});
    groups.walk(rows);
    rows.end_chunk(there && __ldg(a.continued + chunk + 1));
    rows.write_totals(there ? a.room.totals + chunk : nullptr);
}

template <typename T, int LANES>
__global__ void __launch_bounds__(GROUP_THREADS)
    multiply_joins(const __grid_constant__ row_systems_args a)
{
    __shared__ multiply_common<LANES * ENTRIES> common;
    const uint32_t join = group_number<LANES>();
    const bool there = join < a.joins;
    row_groups<T, ANY, LANES> groups(a, common.now);
    multiplier<T, ANY, LANES> rows(groups, common, join, false);
    common.fill(a);
    if (there) {
        rows.read_row(join);
        rows.end_whole_row();
    }
    rows.write_totals(there ? a.room.totals + a.chunks + join : nullptr);
}

struct multiply_choice {
    row_kernel *chunks, *joins;
    uint32_t groups; /* of a thread block */
    uint32_t length; /* of a part         */
};

template <typename T, int GATHERS, int LANES> struct multiply_kernel {
    static multiply_choice choice()
    {
        return {multiply_chunks<T, GATHERS, LANES>, multiply_joins<T, LANES>, GROUP_THREADS / LANES,
                part_length<LANES * ENTRIES>};
    }
};

multiply_choice choice_for(const row_systems_args &args)
{
    return group_kernel<multiply_kernel>(args.mttkrp.precision, args.rank,
                                         args.rules.weighed ? ANY : args.mttkrp.gathers);
}

cudaError_t launch(row_kernel *kernel, uint32_t count, uint32_t groups,
                   const row_systems_args &args, cudaStream_t stream)
{
    void *list[] = {const_cast<row_systems_args *>(&args)};
    return cudaLaunchKernel(kernel, dim3((count + groups - 1) / groups), dim3(GROUP_THREADS), list,
                            0, stream);
}

} // namespace

uint64_t row_multiply_length(uint32_t rank)
{
    return group_kernel<multiply_kernel>(PRECISION_DOUBLE, rank, 2).length;
}

cudaError_t row_multiply_groups(uint32_t rank, uint32_t *groups)
{
    const multiply_choice choice = group_kernel<multiply_kernel>(PRECISION_DOUBLE, rank, 2);
    CUDA_TRY(resident_blocks(choice.chunks, GROUP_THREADS, 0, groups));
    *groups *= choice.groups;
    return cudaSuccess;
}

cudaError_t row_multiply_chunks(const struct row_systems_args *args, cudaStream_t stream)
{
    const multiply_choice choice = choice_for(*args);
    return launch(choice.chunks, args->chunks, choice.groups, *args, stream);
}

cudaError_t row_multiply_joins(const struct row_systems_args *args, cudaStream_t stream)
{
    const multiply_choice choice = choice_for(*args);
    return launch(choice.joins, args->joins, choice.groups, *args, stream);
}
