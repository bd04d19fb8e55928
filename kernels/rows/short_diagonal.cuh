/* Short rows of counts that take the diagonal step (numerics/poisson_term.h). A lane group takes a
 * row, and holds all of it in registers. */
#ifndef BLCO_SHORT_DIAGONAL_CUH
#define BLCO_SHORT_DIAGONAL_CUH

#include "kernels/rows/row_entries.cuh"
#include "kernels/rows/short_rows.cuh"
#include "numerics/poisson_term.h"

/* LANES: of a group, at least MOST; each has ENTRIES neighbouring entries of a row. */
template <typename T, int LANES, int ENTRIES> struct short_diagonal : short_rows {
    static constexpr int COLUMNS = LANES * ENTRIES;
    static constexpr int MOST = ROW_SHORT_DIAGONAL; /* nonzeros of a row           */
    static constexpr int AT_ONCE = 8;               /* nonzeros that are gathered  */
    struct room_of {
        alignas(16) double now[COLUMNS], out[COLUMNS], linear[COLUMNS], unit[COLUMNS];
        alignas(16) double ridge[COLUMNS];
        alignas(16) double inverse[COLUMNS]; /* what an entry is multiplied by, to be in counts */
        short_row row[WARP];
    };
    room_of &room;

    using entries = double[ENTRIES];
    using piece = row_entries<T, ENTRIES>;

    /* What a nonzero of a row is to it; lane l of a group has those of nonzero l % span, where span
     * is 4, 8 or 16: no row of the warp has more nonzeros. */
    struct term {
        double x, c, w, q;
    };

    __device__ __forceinline__ short_diagonal(const row_systems_args &args, room_of &of)
        : short_rows(args, of.row), room(of)
    {
        for (int r = lane; r < COLUMNS; r += WARP) {
            const bool there = r < static_cast<int>(a.rank);
            room.now[r] = there ? a.common.now[r] : 0;
            room.out[r] = there ? a.common.out[r] : 0;
            room.linear[r] = there ? a.common.linear[r] : 0;
            room.unit[r] = there ? a.common.unit[r] : 0;
            room.ridge[r] = there ? a.common.ridge[r] : 0;
            room.inverse[r] = there ? 1 / (a.common.unit[r] * a.of_count) : 0;
        }
        __syncwarp();
    }

    /* The component of the lane's entry e. */
    __device__ __forceinline__ uint32_t entry_number(int e) const
    {
        return lane % LANES * ENTRIES + e;
    }

    /* Whether the lane's entries are in rows of tables. */
    __device__ __forceinline__ bool is_in_rows() const
    {
        return entry_number(0) < a.mttkrp.vectors * (VECTOR_BYTES / sizeof(T));
    }

    __device__ __forceinline__ uint64_t place_of(uint64_t row_number) const
    {
        return row_number * a.mttkrp.vectors * (VECTOR_BYTES / sizeof(piece)) + lane % LANES;
    }

    /* The lane's entries of a vector (COLUMNS) in the room. */
    __device__ __forceinline__ void read_room(const double *of, entries &x) const
    {
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            x[e] = of[entry_number(e)];
    }

    /* The lane's entries of row i of a table; 0 where it has none. */
    __device__ __forceinline__ void read_row(const void *rows, uint64_t i, entries &x) const
    {
        piece from = {};
        if (is_in_rows())
            from = static_cast<const piece *>(rows)[place_of(i)];
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            x[e] = static_cast<double>(from.x[e]);
    }

    /* The nonzeros of the longest row of a group. */
    __device__ __forceinline__ static int longest_of(const short_row &of)
    {
        int most = of.length;
#pragma unroll
        for (int step = LANES; step < WARP; step *= 2)
            most = max(most, __shfl_xor_sync(ALL, most, step));
        return most;
    }

    /* The row of a table that nonzero j of the group's row has, where the lane's has `mine`. */
    __device__ __forceinline__ void read_table(const mttkrp_gather &table, uint32_t mine,
                                               const short_row &of, int j, entries &x) const
    {
        const int source = of.first + max(min(j, of.length - 1), 0);
        read_row(table.rows, __shfl_sync(ALL, mine, source), x);
    }

    /* The row gets the weights of its components. */
    __device__ __forceinline__ void weigh(entries &old) const
    {
        entries now;
        read_room(room.now, now);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            old[e] *= now[e];
    }

    /* z of the first `span` nonzeros of the group's row; of those beyond its last one, that of it.
     */
    __device__ __forceinline__ void gather(const short_row &of, int span, entries (&z)[MOST]) const
    {
#pragma unroll
        for (int j = 0; j < MOST; j++)
#pragma unroll
            for (int e = 0; e < ENTRIES; e++)
                z[j][e] = entry_number(e) < a.rank ? 1 : 0;
#pragma unroll 1
        for (int n = 0; n < a.mttkrp.gathers; n++) {
            const mttkrp_gather &table = a.mttkrp.gather[n];
            const uint32_t mine = coordinate_at(table.field, index, base);
#pragma unroll
            for (int j = 0; j < MOST; j++)
                if (n == 0 && j < span)
                    read_table(table, mine, of, j, z[j]);
#pragma unroll
            for (int from = 0; from < MOST; from += AT_ONCE) {
                entries x[AT_ONCE];
                if (n == 0 || from >= span)
                    break;
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++)
                    if (from + j < span)
                        read_table(table, mine, of, from + j, x[j]);
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++)
                    if (from + j < span)
#pragma unroll
                        for (int e = 0; e < ENTRIES; e++)
                            z[from + j][e] *= x[j][e];
            }
        }
    }

    /* The sum of x over the lanes of a group. */
    __device__ __forceinline__ static double group_sum(double x)
    {
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2)
            x += __shfl_xor_sync(ALL, x, step);
        return x;
    }

    /* A lane keeps half of the 2 HALF sums, and gives the other half to its neighbour. */
    template <int HALF> __device__ __forceinline__ void exchange(double (&x)[MOST], int span) const
    {
        const bool upper = lane & HALF;
        if (HALF < span)
#pragma unroll
            for (int j = 0; j < HALF; j++) {
                const double keeps = upper ? x[j + HALF] : x[j];
                const double gives = upper ? x[j] : x[j + HALF];
                x[j] = keeps + __shfl_xor_sync(ALL, gives, HALF);
            }
        if constexpr (HALF > 1)
            exchange<HALF / 2>(x, span);
    }

    /* <v, z> of nonzero l % span in lane l of a group. */
    __device__ __forceinline__ double products(const entries &v, const entries (&z)[MOST],
                                               int span) const
    {
        double x[MOST];
#pragma unroll
        for (int j = 0; j < MOST; j++) {
            x[j] = 0;
            if (j < span)
#pragma unroll
                for (int e = 0; e < ENTRIES; e++)
                    x[j] = fma(v[e], z[j][e], x[j]);
        }
        exchange<MOST / 2>(x, span);
#pragma unroll
        for (int step = 4; step < LANES; step *= 2)
            if (step >= span)
                x[0] += __shfl_xor_sync(ALL, x[0], step);
        return x[0];
    }

    /* Of the lane's nonzero, where the model is m. */
    __device__ __forceinline__ term term_of(const short_row &of, double m, int span) const
    {
        const int own = lane % span;
        const double x = __shfl_sync(ALL, value, of.first + max(min(own, of.length - 1), 0));
        const double known = own < of.length ? x : NAN;
        const struct poisson_term t = poisson_term_of(known, inverse(poisson_rate(m)), a.unlisted);
        return {known, t.c, t.w, own < of.length ? t.q : 0};
    }

    /* The least value above 0 of the group's row; infinity if there is none. */
    __device__ __forceinline__ static double least_of(double x)
    {
        double least = x > 0 ? x : INFINITY;
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2)
            least = fmin(least, __shfl_xor_sync(ALL, least, step));
        return least;
    }

    /* The gradient is linear - b; h = G's diagonal. */
    __device__ __forceinline__ void gradients(const term &t, const entries (&z)[MOST], int span,
                                              entries &b, entries &linear, entries &h) const
    {
        read_room(room.linear, linear);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            b[e] = h[e] = 0;
#pragma unroll
        for (int j = 0; j < MOST; j++) {
            if (j >= span)
                break;
            const double c = __shfl_sync(ALL, t.c, j, LANES), w = __shfl_sync(ALL, t.w, j, LANES);
            const double q = a.weighed ? __shfl_sync(ALL, t.q, j, LANES) : 0;
#pragma unroll
            for (int e = 0; e < ENTRIES; e++) {
                b[e] = fma(c, z[j][e], b[e]);
                h[e] = fma(w * z[j][e], z[j][e], h[e]);
                linear[e] = fma(q, z[j][e], linear[e]);
            }
        }
    }

    /* The sum of x y over the row. */
    __device__ __forceinline__ static double inner(const entries &x, const entries &y)
    {
        double sum = 0;
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            sum = fma(x[e], y[e], sum);
        return group_sum(sum);
    }

    /* The largest violation of the lane's entries. */
    __device__ __forceinline__ double violation(const entries &old, const entries &linear,
                                                const entries &b) const
    {
        entries unit, inverse;
        double most = 0;
        read_room(room.unit, unit);
        read_room(room.inverse, inverse);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            most = fmax(most, fabs(fmin(old[e] * inverse[e], (linear[e] - b[e]) * unit[e])));
        return most;
    }

    /* H's diagonal gets its ridge. */
    __device__ __forceinline__ void add_ridge(entries &h) const
    {
        entries unit, ridge;
        double trace = 0;
        read_room(room.unit, unit);
        read_room(room.ridge, ridge);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            trace = fma(h[e] * unit[e], unit[e], trace);
        trace = group_sum(trace);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            h[e] = fma(trace, ridge[e], h[e]);
    }

    __device__ __forceinline__ void write_row(uint32_t number, const entries &x) const
    {
        piece to;
#pragma unroll
        for (int e = 0; e < ENTRIES; e++)
            to.x[e] = static_cast<T>(x[e]);
        if (is_in_rows())
            static_cast<piece *>(a.mttkrp.m)[place_of(number)] = to;
    }

    /* old becomes the new row, which goes `part` of the way in direction d; a row without counts is
     * zero. */
    __device__ __forceinline__ void advance(entries &old, const entries &d, double part,
                                            bool solves) const
    {
        entries out;
        read_room(room.out, out);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++) {
            const double entry = fma(part, d[e], old[e]) * out[e];
            const double floored = entry < a.floor ? a.floor : entry; /* a NaN stays */
            old[e] = solves && entry_number(e) < a.rank ? floored : 0;
        }
    }

    /* The row of slot s, of the group. */
    __device__ __forceinline__ void improve(int s)
    {
        const short_row of = s < rows ? room.row[s] : short_row{0, 0, 0};
        const int most = longest_of(of), span = most <= 4 ? 4 : most <= 8 ? 8 : MOST;
        entries z[MOST], old, b, linear, h, d;
        read_row(a.old, of.number, old);
        gather(of, span, z);
        weigh(old);
        const term t = term_of(of, products(old, z, span), span);
        const double least = least_of(t.x);
        gradients(t, z, span, b, linear, h);
        if (least < INFINITY)
            sum.violation = fmax(sum.violation, violation(old, linear, b));
        add_ridge(h);
        const double scale = poisson_row_scale(inner(b, old), inner(linear, old));
        const double back = inverse(scale);
        double slope = 0;
#pragma unroll
        for (int e = 0; e < ENTRIES; e++) {
            const double down = fma(b[e], back, -linear[e]);
            old[e] *= scale;
            d[e] = poisson_diagonal(down, inverse(h[e]) * scale * scale, old[e]);
            slope = fma(down, d[e], slope);
        }
        const double moved = products(d, z, span) * back;
        const double square = lane % LANES < span ? t.w * moved * moved : 0;
        const double part = poisson_diagonal_part(group_sum(slope), group_sum(square), least);
        advance(old, d, part, least < INFINITY);
        if (s < rows)
            write_row(of.number, old);
    }

    __device__ __forceinline__ bool solve()
    {
        for (int s = 0; s < rows; s += WARP / LANES)
            improve(s + lane / LANES);
        return true;
    }
};

#endif
