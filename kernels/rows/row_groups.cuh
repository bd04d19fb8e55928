/* Lane groups walk over the nonzeros in the ordering of a mode, each over a range, and find the
 * model's values there. A lane has ENTRIES components. A group reads windows of as many nonzeros as
 * it has lanes, and takes them in batches of AT_ONCE, whose rows are gathered together. The old row
 * stays in registers until the nonzeros have another one. */
#pragma once

#include "kernels/rows/row_args.h"
#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/row_nonzeros.cuh"
#include "kernels/rows/row_warp.cuh"
#include "numerics/row_term.h"
#include "numerics/vector.cuh"
#include "numerics/unrolled.cuh"

constexpr int ENTRIES = 4;         /* components of a lane                              */
constexpr int AT_ONCE = 2;         /* nonzeros of a batch: four take too many registers */
constexpr int GROUP_THREADS = 128; /* of a thread block                                 */

/* Nonzeros [begin, end) of a block. */
struct group_range {
    uint64_t begin, end;
    uint32_t block;
};

/* to = what all rows have in common of each component, 0 beyond the rank; shared. By a whole thread
 * block, which must then wait for itself. */
template <int COLUMNS>
__device__ __forceinline__ void fill_common(double (&to)[COLUMNS], const double *from,
                                            uint32_t rank, double times = 1)
{
    for (uint32_t r = threadIdx.x; r < COLUMNS; r += blockDim.x)
        to[r] = r < rank ? __ldg(from + r) * times : 0;
}

/* GATHERS: ANY or their number; LANES of a group. */
template <typename T, int GATHERS, int LANES> struct row_groups {
    static constexpr int WIDTH = VECTOR_BYTES / sizeof(T), VECTORS = ENTRIES / WIDTH;
    static constexpr int COLUMNS = LANES * ENTRIES;
    static constexpr int BATCHES = LANES / AT_ONCE; /* of a window */
    static_assert(AT_ONCE == 2, "halves of a group exchange values");
    static constexpr int FIXED = GATHERS == ANY ? 2 : GATHERS; /* gathers at once */
    /* Nonzero u of batch k of a window is that of lane u BATCHES + k; so these, shifted by k, are
     * the lanes of batch k, of all groups: */
    static constexpr uint32_t BATCH_LANES = ALL / ((1u << BATCHES) - 1);

    using piece = row_entries<T, WIDTH>;

    const row_systems_args &a;
    const int lane, mine;         /* of the warp, of the group             */
    const int home;               /* the group's first lane                */
    const double (&now)[COLUMNS]; /* shared */
    const char *table[FIXED];     /* of each gather: the lane's column */
    uint32_t offset[VECTORS];     /* from there to the lane's vectors  */
    const uint32_t *base;         /* of the block, or NULL             */
    uint64_t at, end;             /* of the window, of the range       */
    index_words<ANY> index;       /* of the lane's nonzero in the window ... */
    double value;                 /* ...                                     */
    bool here;                    /* ... if there is one                     */
    uint32_t number;              /* ... its row                             */
    uint32_t place[FIXED];        /* ... and those that it gathers           */
    uint32_t starts;       /* bit i: the nonzero of lane i has another row than that before */
    index_words<ANY> next; /* of the next window                      */
    double next_value;
    uint32_t row;        /* the present row, NO_ROW before the first */
    double old[ENTRIES]; /* of it, times `now`                       */

    __device__ __forceinline__ row_groups(const row_systems_args &args,
                                          const double (&of_now)[COLUMNS])
        : a(args), lane(threadIdx.x % WARP), mine(lane % LANES), home(lane - mine), now(of_now),
          base(nullptr)
    {
        EACH_UNROLLED(k, VECTORS)
            offset[k] = min(vector_number(k), a.mttkrp.vectors - 1) * VECTOR_BYTES;
        if constexpr (GATHERS != ANY)
            EACH_UNROLLED(g, GATHERS)
                table[g] = static_cast<const char *>(a.mttkrp.gather[g].rows) + offset[0];
    }

    /* The lane's k-th vector of a row. */
    __device__ __forceinline__ uint32_t vector_number(int k) const
    {
        return k * LANES + mine;
    }

    /* The component of the lane's entry e. */
    __device__ __forceinline__ uint32_t component(int e) const
    {
        return vector_number(e / WIDTH) * WIDTH + e % WIDTH;
    }

    /* The lane's entries of a row of a table at its column. */
    __device__ __forceinline__ void load(piece (&x)[VECTORS], const char *column, uint32_t i) const
    {
        const char *from = column + static_cast<uint64_t>(i) * (a.mttkrp.vectors * VECTOR_BYTES);
        EACH_UNROLLED(k, VECTORS)
            x[k] = ldg_entries(
                reinterpret_cast<const piece *>(k > 0 ? from + (offset[k] - offset[0]) : from));
    }

    __device__ __forceinline__ void load_old(piece (&x)[VECTORS], uint32_t i) const
    {
        load(x, static_cast<const char *>(a.old) + offset[0], i);
    }

    /* Entry e of an old row. */
    __device__ __forceinline__ double times_now(const piece (&x)[VECTORS], int e) const
    {
        return static_cast<double>(x[e / WIDTH].x[e % WIDTH]) * now[component(e)];
    }

    /* The group begins with a range, which may be empty. */
    __device__ __forceinline__ void begin(const group_range &range)
    {
        at = range.begin;
        end = range.end;
        row = number = NO_ROW;
        base = base_of(a.mttkrp, range.block);
        EACH_UNROLLED(e, ENTRIES)
            old[e] = 0;
        read(at);
    }

    /* The lane's nonzero of a window. */
    __device__ __forceinline__ int turn() const
    {
        return mine % BATCHES * AT_ONCE + mine / BATCHES;
    }

    /* The window at `from`; beyond the end, the last nonzero again. */
    __device__ __forceinline__ void read(uint64_t from)
    {
        const uint64_t i = min(from + turn(), end > 0 ? end - 1 : 0);
        next = index_at(a.mttkrp, i);
        next_value = value_at(a.mttkrp, precision_of<T>, i);
    }

    __device__ __forceinline__ uint32_t coordinate_of(const mttkrp_field &f) const
    {
        return coordinate_at(f, index, base);
    }

    /* What was read becomes the window, and the next one is on its way. */
    __device__ __forceinline__ void begin_window()
    {
        const uint32_t before = number; /* in a group's last lane, the row before the window */
        index = next;
        value = next_value;
        here = at + turn() < end;
        read(at + LANES);
        number = coordinate_of(a.mttkrp.output);
        if constexpr (GATHERS != ANY)
            EACH_UNROLLED(g, GATHERS)
                place[g] = coordinate_of(a.mttkrp.gather[g].field);
        const uint32_t above = __shfl_sync(
            ALL, mine == LANES - 1 ? before : number,
            home + (mine - BATCHES + (mine < BATCHES ? LANES - 1 : 0) + (mine == 0 ? BATCHES : 0)));
        starts = __ballot_sync(ALL, here && number != above);
    }

    /* The lane that has nonzero u of batch k. */
    __device__ __forceinline__ int lane_of(int k, int u) const
    {
        return home + u * BATCHES + k;
    }

    /* Of gather g: the lane's column of its table. */
    __device__ __forceinline__ const char *column_of(int g) const
    {
        if constexpr (GATHERS != ANY)
            return table[g];
        return static_cast<const char *>(a.mttkrp.gather[g].rows) + offset[0];
    }

    /* ... the row that the lane's nonzero gathers. */
    __device__ __forceinline__ uint32_t place_of(int g) const
    {
        if constexpr (GATHERS != ANY)
            return place[g];
        return coordinate_of(a.mttkrp.gather[g].field);
    }

    /* Of nonzero u of batch k: bit of a ballot. */
    __device__ __forceinline__ bool bit_of(uint32_t bits, int k, int u) const
    {
        return bits >> lane_of(k, u) & 1;
    }

    __device__ __forceinline__ static void multiply(double (&z)[ENTRIES], const piece (&x)[VECTORS])
    {
        EACH_UNROLLED(e, ENTRIES)
            z[e] *= static_cast<double>(x[e / WIDTH].x[e % WIDTH]);
    }

    /* z = the products of the rows that a batch gathers; of tensors of order 1, all ones. */
    __device__ __forceinline__ void gather(double (&z)[AT_ONCE][ENTRIES], int k) const
    {
        const int gathers = GATHERS == ANY ? a.mttkrp.gathers : GATHERS;
        EACH_UNROLLED(u, AT_ONCE)
            EACH_UNROLLED(e, ENTRIES)
                z[u][e] = 1;
        for (int first = 0; first < gathers; first += FIXED) {
            piece x[FIXED][AT_ONCE][VECTORS];
            EACH_UNROLLED(g, FIXED)
                EACH_UNROLLED(u, AT_ONCE)
                    load(x[g][u], column_of(min(first + g, gathers - 1)),
                         __shfl_sync(ALL, place_of(min(first + g, gathers - 1)), lane_of(k, u)));
            EACH_UNROLLED(g, FIXED)
                EACH_UNROLLED(u, AT_ONCE)
                    if (first + g < gathers)
                        multiply(z[u], x[g][u]);
        }
    }

    /* m: the lane's parts of the values at a batch. Returns the value at nonzero `mine / BATCHES`.
     */
    __device__ __forceinline__ double sum_of_value(const double (&m)[AT_ONCE]) const
    {
        const bool upper = mine & BATCHES;
        double sum = (upper ? m[1] : m[0]) + __shfl_xor_sync(ALL, upper ? m[0] : m[1], BATCHES);
#pragma unroll
        for (int step = BATCHES / 2; step > 0; step /= 2)
            sum += __shfl_xor_sync(ALL, sum, step);
        return sum;
    }

    /* all[u] = x of lanes `u BATCHES` and after. */
    __device__ __forceinline__ void spread(double x, double (&all)[AT_ONCE]) const
    {
        const bool upper = mine & BATCHES;
        const double other = __shfl_xor_sync(ALL, x, BATCHES);
        all[0] = upper ? other : x;
        all[1] = upper ? x : other;
    }

    __device__ __forceinline__ double part_of_value(const double (&row_of)[ENTRIES],
                                                    const double (&z)[ENTRIES]) const
    {
        return fma(row_of[0], z[0], row_of[1] * z[1]) + fma(row_of[2], z[2], row_of[3] * z[3]);
    }

    __device__ __forceinline__ void begin_row(uint32_t which, const double (&entries)[ENTRIES])
    {
        row = which;
        EACH_UNROLLED(e, ENTRIES)
            old[e] = entries[e];
    }

    /* Batch k of the window. STARTS: in some group, a row begins in it. */
    template <bool STARTS, typename USE> __device__ __forceinline__ void take_batch(int k, USE &use)
    {
        double z[AT_ONCE][ENTRIES], m[AT_ONCE], own[AT_ONCE][ENTRIES];
        piece fresh[AT_ONCE][VECTORS];
        uint32_t which[AT_ONCE];
        if constexpr (STARTS)
            EACH_UNROLLED(u, AT_ONCE) {
                which[u] = __shfl_sync(ALL, number, lane_of(k, u));
                if (bit_of(starts, k, u))
                    load_old(fresh[u], which[u]);
            }
        gather(z, k);
        if (STARTS && bit_of(starts, k, 0))
            use.end_row(); /* while rows are on their way */
        EACH_UNROLLED(u, AT_ONCE) {
            EACH_UNROLLED(e, ENTRIES)
                own[u][e] = u > 0 ? own[u - 1][e] : old[e];
            if (STARTS && bit_of(starts, k, u))
                EACH_UNROLLED(e, ENTRIES)
                    own[u][e] = times_now(fresh[u], e);
            m[u] = part_of_value(own[u], z[u]);
        }
        use.take_values(k, sum_of_value(m));
        EACH_UNROLLED(u, AT_ONCE) {
            if (STARTS && bit_of(starts, k, u)) {
                if (u > 0)
                    use.end_row();
                begin_row(which[u], own[u]);
            }
            use.add(k, u, z[u]);
        }
    }

    /* From begin to the end of the range. use.begin_window(); use.take_values(k, m), m: at nonzero
     * `mine / BATCHES` of batch k; use.add(k, u, z); use.end_row(), before another row becomes the
     * present one; use.end_window(). */
    template <typename USE> __device__ __forceinline__ void walk(USE &use)
    {
        for (; __any_sync(ALL, at < end); at += LANES) {
            begin_window();
            use.begin_window();
#pragma unroll 1
            for (int k = 0; k < BATCHES; k++) {
                if (starts >> k & BATCH_LANES)
                    take_batch<true>(k, use);
                else
                    take_batch<false>(k, use);
            }
            use.end_window();
        }
    }
};

/* KERNEL<T, GATHERS, LANES>::choice() of such systems. Where any number of rows is gathered, they
 * are waited for two by two. */
template <template <typename, int, int> class KERNEL, typename T, int GATHERS>
auto group_kernel_by_lanes(uint32_t rank)
{
    if (rank <= 4 * ENTRIES)
        return KERNEL<T, GATHERS, 4>::choice();
    return rank <= 8 * ENTRIES ? KERNEL<T, GATHERS, 8>::choice() : KERNEL<T, GATHERS, 16>::choice();
}

template <template <typename, int, int> class KERNEL, typename T>
auto group_kernel_by_gathers(uint32_t rank, int gathers)
{
    switch (gathers) {
    case 1:
        return group_kernel_by_lanes<KERNEL, T, 1>(rank);
    case 2:
        return group_kernel_by_lanes<KERNEL, T, 2>(rank);
    case 3:
        return group_kernel_by_lanes<KERNEL, T, 3>(rank);
    default:
        return group_kernel_by_lanes<KERNEL, T, ANY>(rank);
    }
}

template <template <typename, int, int> class KERNEL>
auto group_kernel(enum precision precision, uint32_t rank, int gathers)
{
    return precision == PRECISION_SINGLE ? group_kernel_by_gathers<KERNEL, float>(rank, gathers)
                                         : group_kernel_by_gathers<KERNEL, double>(rank, gathers);
}
