/* Short rows where unlisted entries are unknown and there is a ridge, or are zeros of a weight: an
 * equation for each nonzero of a row. */
#pragma once

#include "kernels/rows/short_tiles.cuh"
#include "kernels/rows/short_window.cuh"
#include "numerics/row_term.h"
#include "numerics/unrolled.cuh"

/* All rows have the matrix M in common: the ridge alone or, with ZEROS, h V + ridge. With weights
 * w = v - h, v = 1 or, of an unknown value, 0, the minimum of a row is a = M^-1 Z' u, where
 * (1 + W Z M^-1 Z') u = v x has an equation for each nonzero; u is v x - w m. */
template <int COLUMNS, bool ZEROS> struct short_equations : short_window<COLUMNS> {
    using window = short_window<COLUMNS>;
    using window::a, window::lane, window::first, window::length, window::value, window::slot,
        window::sum, window::LD, window::longest;
    static constexpr int MOST_WARPS = ZEROS && COLUMNS > 16 ? 8 : 12;
    static constexpr int K_LD = ROW_SHORT_EQUATIONS + 1;
    struct room_of : short_room<COLUMNS> {
        double left[WARP];     /* of each nonzero: u / times the ridge                */
        double ridge[WARP];    /* (slot): times the ridge                             */
        double k[WARP * K_LD]; /* (nonzero, how far before it): entries of Z M^-1 Z' */
        double direction[ZEROS ? WARP * LD : 1]; /* (nonzero, component): M^-1 z           */
    };
    static constexpr double LIMIT = 1e8; /* of K and of 1 / a pivot, which cost as many digits */
    using tiles = short_tiles<COLUMNS>;
    static constexpr int TILES = WARP / TILE_SIDE, STEPS = tiles::STEPS;
    using operand = typename tiles::template operand<TILES>; /* of nonzeros */
    room_of &room;
    bool determined; /* the ridge alone is enough for row_whole */

    __device__ __forceinline__ short_equations(const row_systems_args &args, room_of &storage)
        : window(args, storage), room(storage), determined(true)
    {
        for (uint32_t r = lane; !ZEROS && r < a.rank; r += WARP)
            determined &= __ldg(a.common.ridge + r) > ROW_SINGULAR * __ldg(a.common.cell + r);
        determined = __all_sync(ALL, determined);
    }

    __device__ __forceinline__ double inverse_ridge(uint32_t r) const
    {
        return r < a.rank ? __ldg(a.common.inverse + r) : 0;
    }

    /* x = a step of M^-1 z, which also goes to the room. steps: those of z. */
    __device__ __forceinline__ void multiply_inverse(const operand (&steps)[STEPS], int step,
                                                     operand &x) const
    {
        const int g = lane / 4, t = lane % 4;
        const uint32_t column = tiles::component(step, g / 2, g % 2);
        double sum[TILES / 2][4] = {};
        EACH_UNROLLED(k, STEPS)
            tiles::template multiply_step<TILES>(sum, steps[k], k, a.common.v_inverse, a.rank,
                                                 column);
        EACH_UNROLLED(i, TILES)
            EACH_UNROLLED(half, 2) {
                x[i][half] = sum[i / 2][i % 2 * 2 + half];
                room.direction[(TILE_SIDE * i + g) * LD + tiles::component(step, t, half)] =
                    x[i][half];
            }
    }

    /* The tiles of Z M^-1 Z' on the diagonal, below it, and, if FAR, below these. */
    template <bool FAR> struct equation_tiles {
        double near[TILES][4], far[FAR ? TILES - 2 : 1][2];
    };

    /* Adds a step, of z on the left and of M^-1 z on the right. */
    template <bool FAR>
    __device__ __forceinline__ static void add_step(equation_tiles<FAR> &sum, const operand &z,
                                                    const operand &right)
    {
        EACH_UNROLLED(i, TILES) {
            const int below = i + 1 < TILES ? i + 1 : i;
            multiply_add(sum.near[i], z[i][0], z[below][0], z[i][1], z[below][1], right[i][0],
                         right[i][1]);
            if constexpr (FAR)
                for (int half = 0; half < 2 && i + 2 < TILES; half++)
                    multiply_8x8x4(sum.far[i][0], sum.far[i][1], z[i + 2][half], right[i][half]);
        }
    }

    /* Z M^-1 Z' for nonzeros of one row, of at most 8 or, if FAR, 16. */
    template <bool FAR> __device__ __forceinline__ void multiply_all()
    {
        equation_tiles<FAR> sum = {};
        operand all[ZEROS ? STEPS : 1];
        if constexpr (ZEROS)
            EACH_UNROLLED(step, STEPS)
                tiles::template read_step<TILES>(room.z, step, all[step]);
#pragma unroll 1
        for (int step = 0; step < STEPS; step++) {
            operand z, right;
            tiles::template read_step<TILES>(room.z, step, z);
            if constexpr (ZEROS) {
                multiply_inverse(all, step, right);
            } else {
                const uint32_t r = tiles::component(step, lane % 4, 0);
                const double d[2] = {inverse_ridge(r), inverse_ridge(r + 1)};
                EACH_UNROLLED(i, TILES)
                    EACH_UNROLLED(half, 2)
                        right[i][half] = z[i][half] * d[half];
            }
            add_step<FAR>(sum, z, right);
        }
        EACH_UNROLLED(i, TILES) {
            put_tile(i, i, sum.near[i][0], sum.near[i][1]);
            if (i + 1 < TILES)
                put_tile(i + 1, i, sum.near[i][2], sum.near[i][3]);
            if (FAR && i + 2 < TILES)
                put_tile(i + 2, i, sum.far[i][0], sum.far[i][1]);
        }
        __syncwarp();
    }

    __device__ __forceinline__ void put_tile(int i, int j, double x, double y) const
    {
        const int row = TILE_SIDE * i + lane / 4, before = row - (TILE_SIDE * j + lane % 4 * 2);
        if (before >= 0 && before < ROW_SHORT_EQUATIONS)
            room.k[row * K_LD + before] = x;
        if (before >= 1 && before <= ROW_SHORT_EQUATIONS)
            room.k[row * K_LD + before - 1] = y;
    }

    /* k[i] = entry (this nonzero, nonzero i of its row) of Z M^-1 Z'; where the row has no more
     * nonzeros, that of the last one. */
    template <int MOST> __device__ __forceinline__ void read_equations(double (&k)[MOST]) const
    {
        EACH_UNROLLED(i, MOST) {
            const int other = length > 0 ? first + min(i, length - 1) : lane;
            k[i] = room.k[max(lane, other) * K_LD + abs(lane - other)];
        }
    }

    /* The same where rows are so short that matrix instructions would find little that is needed.
     */
    template <int MOST> __device__ __forceinline__ void make_equations(double (&k)[MOST]) const
    {
        const double *mine = room.z + lane * LD, *other[MOST];
        EACH_UNROLLED(i, MOST) {
            other[i] = room.z + (length > 0 ? first + min(i, length - 1) : lane) * LD;
            k[i] = 0;
        }
#pragma unroll 4
        for (uint32_t r = 0; r < a.rank; r++) {
            const double z = mine[r] * __ldg(a.common.inverse + r);
            EACH_UNROLLED(i, MOST)
                k[i] = fma(z, other[i][r], k[i]);
        }
    }

    /* Returns x of K x = u for all rows at once, by elimination of one nonzero of each after the
     * other. *least becomes the least pivot, if that is less. */
    template <int MOST>
    __device__ __forceinline__ double eliminate(double (&k)[MOST], double u, double *least) const
    {
        const int own = lane - first;
        double diagonal = 1;
        EACH_UNROLLED(p, MOST) {
            const bool there = p < length;
            const int from = there ? first + p : lane;
            const double pivot = __shfl_sync(ALL, k[p], from), of_u = __shfl_sync(ALL, u, from);
            const double f = there && own != p ? k[p] * row_inverse(pivot) : 0;
            diagonal = own == p ? pivot : diagonal;
#pragma unroll
            for (int i = p + 1; i < MOST; i++)
                k[i] -= f * __shfl_sync(ALL, k[i], from);
            u -= f * of_u;
        }
        *least = fmin(*least, diagonal);
        return u * row_inverse(diagonal);
    }

    /* Of the row of slot s, from u. */
    template <int WIDTH>
    __device__ __forceinline__ void entries_of(int s, uint32_t r, double (&x)[WIDTH])
    {
        /* M^-1 z of the nonzeros; without ZEROS z, which is not multiplied by the inverse ridge */
        this->sums_of(room.row[s], room.left, ZEROS ? room.direction : room.z, r, x);
        EACH_UNROLLED(e, WIDTH) {
            if constexpr (!ZEROS) {
                x[e] *= this->common_at(a.common.inverse, r + e);
                if (a.rules.counted && r + e < a.rank)
                    sum.penalty += room.ridge[s] * __ldg(a.common.ridge + r + e) * x[e] * x[e];
            }
            x[e] *= this->common_at(a.common.out_scale, r + e);
        }
    }

    /* Finds u; false, and nothing is done, where K is so large, or its inverse, that u would lose
     * digits. No row has more than MOST nonzeros. */
    template <int MOST> __device__ __forceinline__ bool solve_rows()
    {
        const uint32_t lanes = length > 0 ? (2u << (first + length - 1)) - (1u << first) : 0;
        const uint32_t known = __ballot_sync(ALL, length > 0 && row_term_known(value));
        const bool counts = known >> lane & 1;
        const int of_row = __popc(known & lanes);
        const double times = a.rules.counted ? of_row : 1, share = of_row > 0 ? 1 / times : 0;
        const double weight = ZEROS ? counts - a.rules.unlisted : share;
        double k[MOST], least = 1;
        bool small = true;
        if constexpr (!ZEROS && MOST <= 2) {
            make_equations(k);
        } else {
            multiply_all<(MOST > TILE_SIDE)>();
            read_equations(k);
        }
        EACH_UNROLLED(i, MOST) {
            const bool valid = i < length && (ZEROS || (counts && known >> (first + i) & 1));
            k[i] = valid ? weight * k[i] : 0;
            small = small && fabs(k[i]) < LIMIT;
            k[i] += first + i == lane;
        }
        const double u = eliminate(k, counts ? value : 0, &least);
        if (!__all_sync(ALL, small && least * LIMIT > 1))
            return false;
        room.left[lane] = ZEROS ? u : counts ? u * share : 0;
        if (length > 0 && lane == first)
            room.ridge[slot] = times;
        double misfit = u * u;
        if constexpr (ZEROS) { /* the model's value is m = K u */
            const double v = counts;
            double all[MOST], m = 0;
            __syncwarp();
            read_equations(all);
            EACH_UNROLLED(i, MOST)
                m += i < length ? all[i] * room.left[first + i] : 0;
            const double rest = u - a.rules.unlisted * m;
            misfit = v * rest * rest - a.rules.unlisted * m * m;
        }
        sum.misfit += length > 0 ? misfit : 0;
        sum.size += length > 0 ? fabs(misfit) : 0;
        return true;
    }

    __device__ __forceinline__ bool solve_all()
    {
        const int most = longest();
        if (most <= 1)
            return solve_rows<1>();
        if (most <= 2)
            return solve_rows<2>();
        if (most <= 4)
            return solve_rows<4>();
        if (most <= 8)
            return solve_rows<8>();
        return solve_rows<ROW_SHORT_EQUATIONS>();
    }

    __device__ __forceinline__ bool solve()
    {
        if (!determined)
            return false;
        this->gather_all();
        if (!solve_all())
            return false;
        __syncwarp();
        this->write([&](int s, uint32_t r, auto &x) { entries_of(s, r, x); });
        return true;
    }
};
