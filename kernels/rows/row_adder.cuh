/* Sums the system of a row, b and G of numerics/row_term.h, by the warps of a thread block: from
 * batches of 8 nonzeros in the layout of the matrix instructions. Each warp has blocks of its own
 * (row_tiles); all of them find the values of all nonzeros. Runs are added by row_run_adder. */
#pragma once

#include "kernels/rows/row_args.h"
#include "kernels/rows/row_batches.cuh"
#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/row_solve.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "numerics/poisson_term.h"
#include "numerics/row_term.h"
#include "numerics/unrolled.cuh"

template <typename T, int BLOCKS, bool COUNTS> struct row_adder {
    static constexpr int COLUMNS = BLOCKS * TILE_SIDE;
    static constexpr int LD = row_batches<T, COLUMNS>::LD;
    static constexpr int PAIRS = tile_pairs<BLOCKS>;
    static constexpr int WIDTH = VECTOR_BYTES / sizeof(T);
    static constexpr int PARTS = row_room<COLUMNS>::PARTS;
    static constexpr int WARPS = warps_of_row<BLOCKS>;
    static constexpr int OWN = own_blocks<BLOCKS>;

    const row_systems_args &a;
    row_room<COLUMNS> &room;
    row_batches<T, COLUMNS> batches;
    const int warp;
    const uint32_t lane, t, g; /* lane = 4 g + t                                               */
    uint32_t row;              /* the one that is being summed                                 */
    double b[OWN];             /* of nonzeros t and t + 4 of the batches                       */
    double sum[PAIRS][4];      /* tiles of G                                                   */
    row_numbers numbers; /* of the threads, whose sum is 4 WARPS times that of the row         */

    __device__ __forceinline__ row_adder(const row_systems_args &args, row_room<COLUMNS> &storage)
        : a(args), room(storage), batches(args.mttkrp, reinterpret_cast<T *>(storage.g)),
          warp(warp_of_thread<WARPS>()), lane(lane_of_thread<WARPS>()), t(lane % 4), g(lane / 4)
    {
    }

    /* Bytes of the stages and, where counts are weighed, of parts of q. */
    __host__ __device__ static constexpr uint32_t stage_bytes(int gathers, bool weighed)
    {
        return 2 * gathers * BATCH * LD * sizeof(T) + weighed * 4 * COLUMNS * sizeof(double);
    }

    __device__ __forceinline__ double old_entry(uint32_t r) const
    {
        const uint64_t ld = static_cast<uint64_t>(a.mttkrp.vectors) * WIDTH;
        return r < a.rank
                   ? static_cast<double>(__ldg(static_cast<const T *>(a.old) + row * ld + r)) *
                         __ldg(a.common.now + r)
                   : 0;
    }

    /* Until the row ends, what lanes t sum of entry g of block i of q is after the stages. */
    __device__ __forceinline__ double &part_of_q(int i) const
    {
        double *part = reinterpret_cast<double *>(batches.rows_of(2, 0));
        return part[t * COLUMNS + component(i, g)];
    }

    __device__ __forceinline__ void begin_row(uint32_t which)
    {
        row = which;
        numbers = {};
        if (COUNTS)
            numbers.least = INFINITY;
        for (int i = 0; is_weighed() && i < OWN; i++)
            part_of_q(i) = 0;
        if (threadIdx.x < COLUMNS)
            room.old[threadIdx.x] = old_entry(threadIdx.x);
        EACH_UNROLLED(i, OWN)
            b[i] = 0;
        EACH_UNROLLED(k, PAIRS)
            EACH_UNROLLED(e, 4)
                sum[k][e] = 0;
    }

    /* Blocks that a lane reads at once: the entries of blocks 2 p and 2 p + 1 take turns. */
    static constexpr int AT_ONCE = BLOCKS == 1 ? 1 : 2;

    /* The component of entry `at` of block i, in the order of this warp. */
    __device__ __forceinline__ uint32_t component(int i, uint32_t at) const
    {
        return (block_pair_of(warp, i / AT_ONCE) * TILE_SIDE + at) * AT_ONCE + i % AT_ONCE;
    }

    /* Where the row of nonzero t of a half stands among those of a gather. */
    __device__ __forceinline__ uint32_t place_of(int half) const
    {
        return (4 * half + t) * LD;
    }

    /* x = entries `at` of all blocks of a row, in the order of a warp. */
    template <typename X, int COUNT>
    __device__ __forceinline__ static void read(const X *row, uint32_t at, int order,
                                                double (&x)[COUNT])
    {
        using entries = row_entries<X, AT_ONCE>;
#pragma unroll
        for (int i = 0; i < COUNT; i += AT_ONCE) {
            const entries loaded = reinterpret_cast<const entries *>(
                row)[block_pair_of(order, i / AT_ONCE) * TILE_SIDE + at];
            EACH_UNROLLED(e, AT_ONCE)
                x[i + e] = loaded.x[e];
        }
    }

    /* z = the product of the rows that nonzero t of a half has gathered, GATHERS or any number; of
     * tensors of order 1, z is all ones. */
    template <int GATHERS>
    __device__ __forceinline__ void multiply(int which, int half, double (&z)[BLOCKS]) const
    {
        const int gathers = GATHERS == ANY ? a.mttkrp.gathers : GATHERS;
        const T *rows = batches.rows_of(which, 0) + place_of(half);
        if constexpr (GATHERS == ANY) {
            EACH_UNROLLED(i, BLOCKS)
                z[i] = 1;
        } else {
            read(rows, g, warp, z);
        }
#pragma unroll
        for (int k = GATHERS == ANY ? 0 : 1; k < gathers; k++) {
            double x[BLOCKS];
            read(rows + k * BATCH * LD, g, warp, x);
            EACH_UNROLLED(i, BLOCKS)
                z[i] *= x[i];
        }
    }

    /* This lane's part of the model's value at a nonzero. */
    template <int COUNT>
    __device__ __forceinline__ static double part_of_value(const double (&z)[COUNT],
                                                           const double (&old)[COUNT])
    {
        double even = z[0] * old[0], odd = 0;
#pragma unroll
        for (int i = 1; i < COUNT; i++) {
            if (i % 2)
                odd = fma(z[i], old[i], odd);
            else
                even = fma(z[i], old[i], even);
        }
        return even + odd;
    }

    /* c and w; q of counts. */
    struct factors {
        double c, w, q;
    };

    /* What a nonzero of this value and of weight v adds to b and G, where the model has the value
     * m; h is 0 if it is not there. It counts so many times in the numbers. */
    __device__ __forceinline__ factors square_of(double x, double v, double m, double h,
                                                 double times)
    {
        const struct row_term term = row_term_of(x, v, m, h);
        numbers.misfit = fma(times, term.misfit, numbers.misfit);
        numbers.size = fma(times, fabs(term.misfit), numbers.size);
        return {term.c, term.w, 0};
    }

    __device__ __forceinline__ factors count_of(double x, double m, double h)
    {
        const struct poisson_term term = poisson_term(a.rules.kind, x, m, h);
        numbers.least = x > 0 ? fmin(numbers.least, x) : numbers.least;
        return {term.c, term.w, term.q};
    }

    __device__ __forceinline__ bool is_weighed() const
    {
        return COUNTS && a.rules.weighed;
    }

    /* What nonzero `lane % BATCH` adds, which 4 lanes have. */
    __device__ __forceinline__ factors term_of(const batch &x, double m)
    {
        const double h = static_cast<int>(lane) % BATCH < x.count ? a.rules.unlisted : 0;
        const double v = row_term_known(x.value);
        numbers.known += v;
        return COUNTS ? count_of(x.value, m, h)
                      : square_of(row_term_known(x.value) ? x.value : 0, v, m, h, 1);
    }

    /* The sum, over g, of m[half], where half is that of nonzero `lane % BATCH`. */
    __device__ __forceinline__ double sum_of_value(const double (&m)[2]) const
    {
        const bool upper = lane & 4;
        double sum = upper ? m[1] : m[0];
        sum += __shfl_xor_sync(ALL, upper ? m[0] : m[1], 4);
        sum += __shfl_xor_sync(ALL, sum, 8);
        return sum + __shfl_xor_sync(ALL, sum, 16);
    }

    /* pair = x of nonzeros t and t + 4. */
    __device__ __forceinline__ void to_pair(double x, double (&pair)[2]) const
    {
        const double other = __shfl_xor_sync(ALL, x, 4);
        pair[0] = lane & 4 ? other : x;
        pair[1] = lane & 4 ? x : other;
    }

    /* b += c z. */
    __device__ __forceinline__ void add_vector(double c, const double (&z)[BLOCKS])
    {
        EACH_UNROLLED(i, OWN)
            b[i] = fma(c, z[i], b[i]);
    }

    /* G += sum of w z z', where z[half][block] is entry g of nonzero t of a half. */
    __device__ __forceinline__ void add_matrix(const double (&w)[2], const double (*z)[BLOCKS])
    {
        each_tile_pair<BLOCKS>([&](auto number) {
            constexpr int k = decltype(number)::value;
            constexpr tile_pair p = tile_pair_at<BLOCKS>(k);
            constexpr int below = p.row + 1 < BLOCKS ? p.row + 1 : p.row;
            if constexpr (WARPS > 1) /* fewer blocks are rows than columns */
                multiply_add(sum[k], w[0] * z[0][p.row], w[0] * z[0][below], w[1] * z[1][p.row],
                             w[1] * z[1][below], z[0][p.column], z[1][p.column]);
            else
                multiply_add(sum[k], z[0][p.row], z[0][below], z[1][p.row], z[1][below],
                             w[0] * z[0][p.column], w[1] * z[1][p.column]);
        });
    }

    /* Adds a batch, whose rows are in stage `which`. */
    template <int GATHERS> __device__ __forceinline__ void add_batch(const batch &x, int which)
    {
        double z[2][BLOCKS], m[2], c[2], w[2], q[2], old[BLOCKS];
        read(room.old, g, warp, old);
        EACH_UNROLLED(half, 2) {
            multiply<GATHERS>(which, half, z[half]);
            m[half] = part_of_value(z[half], old);
        }
        const factors terms = term_of(x, sum_of_value(m));
        to_pair(terms.c, c);
        if (is_weighed())
            to_pair(terms.q, q);
        EACH_UNROLLED(half, 2) {
            add_vector(c[half], z[half]);
            for (int i = 0; is_weighed() && i < OWN; i++)
                part_of_q(i) += q[half] * z[half][i];
        }
        to_pair(terms.w, w);
        add_matrix(w, z);
    }

    __device__ __forceinline__ void add(const batch &x, int which)
    {
        if (a.mttkrp.gathers == 2)
            add_batch<2>(x, which);
        else
            add_batch<ANY>(x, which);
    }

    /* Entry (i, j) or (j, i) of G, whichever is in its upper half. */
    __device__ __forceinline__ double &upper(uint32_t i, uint32_t j) const
    {
        constexpr int G_LD = row_room<COLUMNS>::LD;
        return room.g[min(i, j) * G_LD + max(i, j)];
    }

    /* The tile (block, column) into the upper half of G. */
    __device__ __forceinline__ void put_tile(int block, int column, double x, double y)
    {
        const uint32_t i = component(block, g);
        if (block != column || g >= 2 * t)
            upper(i, component(column, 2 * t)) = x;
        if (block != column || g >= 2 * t + 1)
            upper(i, component(column, 2 * t + 1)) = y;
    }

    /* The sum of x over the lanes of a g. */
    __device__ __forceinline__ static double sum_of_g(double x)
    {
        x += __shfl_xor_sync(ALL, x, 1);
        return x + __shfl_xor_sync(ALL, x, 2);
    }

    __device__ __forceinline__ void put_row()
    {
        if (is_weighed()) { /* q, which is not a part of G any more */
            double q[OWN];
            EACH_UNROLLED(i, OWN)
                q[i] = sum_of_g(part_of_q(i));
            sync_warps<WARPS>();
            EACH_UNROLLED(i, OWN)
                if (t == 0)
                    room.q[component(i, g)] = q[i];
        }
        each_tile_pair<BLOCKS>([&](auto number) {
            constexpr int k = decltype(number)::value;
            constexpr tile_pair p = tile_pair_at<BLOCKS>(k);
            if constexpr (p.column != p.row + 1) /* (p.row + 1, p.row) is there */
                put_tile(p.row, p.column, sum[k][0], sum[k][1]);
            if constexpr (p.row + 1 < BLOCKS)
                put_tile(p.row + 1, p.column, sum[k][2], sum[k][3]);
        });
        EACH_UNROLLED(i, OWN) {
            const double x = sum_of_g(b[i]);
            if (t == 0)
                room.b[component(i, g)] = x;
        }
        if (warp > 0 && lane == 0)
            room.numbers = numbers;
        sync_warps<WARPS>();
        if constexpr (WARPS > 1) { /* the first warp needs the sum */
            const row_numbers &x = room.numbers;
            numbers.known += x.known;
            numbers.misfit = COUNTS ? fmin(numbers.least, x.least) : numbers.misfit + x.misfit;
            numbers.size += x.size;
        }
    }

    /* Of all nonzeros of the warp, in all lanes. */
    __device__ __forceinline__ void sum_numbers()
    {
        constexpr int TIMES = 4 * WARPS;
        double least = numbers.least;
        for (int step = 1; step < WARP; step *= 2)
            least = fmin(least, __shfl_xor_sync(ALL, least, step));
        numbers.known = warp_sum(numbers.known) / TIMES;
        numbers.misfit = COUNTS ? least : warp_sum(numbers.misfit) / TIMES;
        numbers.size = warp_sum(numbers.size) / TIMES;
    }
};
