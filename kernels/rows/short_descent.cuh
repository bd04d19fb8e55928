/* Short rows that are nonnegative: one coordinate after the other, by a lane for each row. */
#pragma once

#include "kernels/rows/short_tiles.cuh"
#include "kernels/rows/short_window.cuh"
#include "numerics/row_term.h"
#include "numerics/unrolled.cuh"

/* Unlisted entries are unknown or, with ZEROS, zeros of the weight h: then coordinate r of a row
 * needs (h V a)_r, with what a has become. Before a block of 8 coordinates, h V a is found for
 * those of all rows at once; a lane then adds what its own steps within the block change. */
template <int COLUMNS_OF, bool ZEROS> struct short_descent : short_window<COLUMNS_OF> {
    using window = short_window<COLUMNS_OF>;
    using window::a, window::lane, window::length, window::rows, window::value, window::slot,
        window::solved, window::sum, window::COLUMNS, window::LD;
    using tiles = short_tiles<COLUMNS>;
    static constexpr int BLOCK = TILE_SIDE, BLOCK_LD = BLOCK + 1;
    struct room_of : short_room<COLUMNS_OF> {
        double x[WARP * LD];                        /* (slot, component): the rows          */
        double zero[LD];                            /* z of a nonzero that adds nothing     */
        double ridge[LD], cell[LD];                 /* of each component                    */
        double left[WARP];                          /* of each nonzero: c (row_term.h)      */
        double common[ZEROS ? WARP * BLOCK_LD : 1]; /* (slot, coordinate of a block): h V a */
        alignas(16) double v[ZEROS ? COLUMNS * BLOCK : 1]; /* h V (r, coordinate of its block) */
    };
    room_of &room;
    uint32_t known; /* bit i: the value of the nonzero of lane i is known */

    __device__ __forceinline__ short_descent(const row_systems_args &args, room_of &storage)
        : window(args, storage), room(storage)
    {
        for (int r = lane; r < LD; r += WARP) {
            room.zero[r] = 0;
            room.ridge[r] = this->common_at(a.common.ridge, r);
            room.cell[r] = this->common_at(a.common.cell, r);
        }
        for (int i = lane; ZEROS && i < COLUMNS * BLOCK; i += WARP)
            room.v[i] =
                tiles::entry(a.common.v, a.rank, i / BLOCK, i / BLOCK / BLOCK * BLOCK + i % BLOCK);
        __syncwarp();
    }

    /* The weight of unlisted entries. */
    __device__ __forceinline__ double h() const
    {
        return ZEROS ? a.rules.unlisted : 0;
    }

    /* The model's value of this lane's nonzero, if it is solved. */
    __device__ __forceinline__ double model() const
    {
        return this->inner(room.z + lane * LD, room.x + (length > 0 ? slot : 0) * LD);
    }

    /* The row of slot `lane`, which has at most MOST nonzeros. If they are WEIGHED, some of their
     * values are unknown and each has its own w (row_term.h); otherwise w is 1 - h. */
    template <int MOST, bool WEIGHED> struct row_facts {
        double left[MOST];     /* c                                                             */
        const double *z[MOST]; /* (R): zeros of those that add nothing, and beyond the last one */
        double *x;             /* (R)                                                           */
        double times;          /* the ridge                                                     */
        uint32_t there;        /* bit i: the value of its nonzero i is known                    */
    };

    template <int MOST, bool WEIGHED>
    __device__ __forceinline__ row_facts<MOST, WEIGHED> facts(const short_row &row,
                                                              uint32_t there) const
    {
        row_facts<MOST, WEIGHED> f = {.x = room.x + lane * LD,
                                      .times =
                                          a.rules.counted ? static_cast<double>(__popc(there)) : 1,
                                      .there = there};
        EACH_UNROLLED(i, MOST) {
            const bool counts = ZEROS ? i < row.length : there >> i & 1;
            f.z[i] = counts ? room.z + (row.first + i) * LD : room.zero;
            f.left[i] = counts ? room.left[row.first + i] : 0;
        }
        return f;
    }

    /* w of nonzero i over that of all: 1 - h or, if WEIGHED, 1. */
    template <int MOST, bool WEIGHED>
    __device__ __forceinline__ double weight(const row_facts<MOST, WEIGHED> &f, int i) const
    {
        return !WEIGHED ? 1 : f.there >> i & 1 ? 1 - h() : -h();
    }

    /* What a step of coordinate r needs, but for what the step before it changes. */
    template <int MOST> struct coordinate {
        double z[MOST], x, down; /* down: of the ridge and h V                                    */
        double inverse;          /* 1 / H_rr, or 0 where that says nothing (row_whole)            */
        double v;                /* h V's entry for this step and the one before it     */
    };

    /* step: those before coordinate r in its block, of which it is number `e`. */
    template <int MOST, bool WEIGHED>
    __device__ __forceinline__ coordinate<MOST>
    coordinate_at(const row_facts<MOST, WEIGHED> &f, uint32_t r, int e, const double *step) const
    {
        coordinate<MOST> c;
        const double ridge = f.times * room.ridge[r];
        double even = ZEROS ? 0 : ridge, odd = 0;
        c.x = f.x[r];
        c.down = -ridge * c.x;
        c.v = 0;
        EACH_UNROLLED(i, MOST) {
            c.z[i] = f.z[i][r];
            (i % 2 ? odd : even) = fma(weight(f, i) * c.z[i], c.z[i], i % 2 ? odd : even);
        }
        double of_h = MOST > 1 ? even + odd : even, whole = row_whole(of_h, 0, 0, room.cell[r]);
        if constexpr (ZEROS) {
            const double *v = room.v + r * BLOCK;
            const double of_g = of_h * (WEIGHED ? 1 : 1 - h());
            whole = row_whole(of_g, v[e], ridge, room.cell[r]);
            of_h = of_g + (ridge + v[e]);
            c.down -= room.common[lane * BLOCK_LD + e];
#pragma unroll
            for (int k = 0; k + 1 < e; k++)
                c.down = fma(-step[k], v[k], c.down);
            c.v = e > 0 ? v[e - 1] : 0;
        }
        c.inverse = of_h > ROW_SINGULAR * whole && (!ZEROS || r < a.rank) ? row_inverse(of_h) : 0;
        return c;
    }

    /* Takes the step of coordinate r of the row, and returns it. before: the step before it. */
    template <int MOST, bool WEIGHED>
    __device__ __forceinline__ double descend(row_facts<MOST, WEIGHED> &f, uint32_t r,
                                              const coordinate<MOST> &c, double before) const
    {
        double even = ZEROS ? fma(-before, c.v, c.down) : c.down, odd = 0;
        EACH_UNROLLED(i, MOST)
            (i % 2 ? odd : even) = fma(f.left[i], c.z[i], i % 2 ? odd : even);
        const double wanted = (MOST > 1 ? even + odd : even) * c.inverse;
        const double step = prox(wanted, c.x, {0});
        const double down = ZEROS && !WEIGHED ? (h() - 1) * step : -step;
        f.x[r] = c.x + step;
        EACH_UNROLLED(i, MOST)
            f.left[i] = fma(weight(f, i) * down, c.z[i], f.left[i]);
        return step;
    }

    /* Puts h V a, of the block of coordinates from r on, into the room: of the first TILES *
     * TILE_SIDE slots. */
    template <int TILES> __device__ __forceinline__ void multiply_block(uint32_t r) const
    {
        const int g = lane / 4, t = lane % 4;
        double of_v[TILES / 2][4] = {};
        EACH_UNROLLED(step, tiles::STEPS) {
            typename tiles::template operand<TILES> x;
            tiles::template read_step<TILES>(room.x, step, x);
            tiles::template multiply_step<TILES>(of_v, x, step, a.common.v, a.rank, r + g);
        }
        EACH_UNROLLED(i, TILES)
            EACH_UNROLLED(half, 2)
                room.common[(TILE_SIDE * i + g) * BLOCK_LD + 2 * t + half] =
                    of_v[i / 2][i % 2 * 2 + half];
    }

    /* A pass of coordinate descent (HALS) by blocks, by all lanes: they take part in matrix
     * instructions. */
    template <int MOST, bool WEIGHED>
    __device__ __forceinline__ void descend_blocks(row_facts<MOST, WEIGHED> &f) const
    {
#pragma unroll 1
        for (uint32_t r = 0; r < a.rank; r += BLOCK) {
            __syncwarp();
            if (rows <= WARP / 2)
                multiply_block<WARP / 2 / TILE_SIDE>(r);
            else
                multiply_block<WARP / TILE_SIDE>(r);
            __syncwarp();
            if (lane >= rows)
                continue;
            double step[BLOCK] = {};
            coordinate<MOST> c = coordinate_at(f, r, 0, step);
            EACH_UNROLLED(e, BLOCK) {
                coordinate<MOST> next = c;
                if (e + 1 < BLOCK)
                    next = coordinate_at(f, r + e + 1, e + 1, step);
                step[e] = descend(f, r + e, c, e > 0 ? step[e - 1] : 0);
                c = next;
            }
        }
    }

    /* The row of slot `lane`, if there is one, becomes a better one; zero where nothing is known.
     */
    template <int MOST, bool WEIGHED = false> __device__ __forceinline__ void improve()
    {
        const short_row row = lane < rows ? room.row[lane] : short_row{};
        const uint32_t there = known >> row.first & ((1u << row.length) - 1);
        row_facts<MOST, WEIGHED> f = facts<MOST, WEIGHED>(row, there);
        for (int pass = 0; (ZEROS || there) && pass < ROW_PASSES; pass++)
            if constexpr (ZEROS) {
                descend_blocks(f);
            } else { /* a coordinate is read while the one before it descends */
                coordinate<MOST> c = coordinate_at(f, 0, 0, nullptr);
#pragma unroll 2
                for (uint32_t r = 0; r < a.rank; r++) {
                    const coordinate<MOST> next = coordinate_at(f, r + 1, 0, nullptr);
                    descend(f, r, c, 0);
                    c = next;
                }
            }
        for (uint32_t r = 0; !there && r < a.rank; r++)
            f.x[r] = 0;
        EACH_UNROLLED(i, MOST)
            if (!ZEROS && i < row.length)
                room.left[row.first + i] = f.left[i];
        double penalty = 0;
        if (a.rules.counted && lane < rows)
            for (uint32_t r = 0; r < a.rank; r++)
                penalty = fma(f.times * room.ridge[r] * f.x[r], f.x[r], penalty);
        sum.penalty += penalty;
    }

    __device__ __forceinline__ void improve_up_to(int most)
    {
        if (ZEROS && solved & ~known) /* these may be few: one function is enough for them */
            improve<ROW_SHORT_DESCENT, ZEROS>();
        else if (most <= 1)
            improve<1>();
        else if (most <= 2)
            improve<2>();
        else if (most <= 4)
            improve<4>();
        else
            improve<ROW_SHORT_DESCENT>();
    }

    /* Of the new row of slot s. */
    template <int WIDTH>
    __device__ __forceinline__ void entries_of(int s, uint32_t r, double (&x)[WIDTH]) const
    {
        EACH_UNROLLED(e, WIDTH)
            x[e] = room.x[s * LD + r + e] * this->common_at(a.common.out_scale, r + e);
    }

    __device__ __forceinline__ bool solve()
    {
        const int most = this->longest();
        this->gather_all();
        if (a.mttkrp.precision == PRECISION_SINGLE)
            this->template gather_old<float>(room.x);
        else
            this->template gather_old<double>(room.x);
        __syncwarp();
        room.left[lane] = row_term(value, model(), h()).c;
        known = __ballot_sync(ALL, row_term_known(value));
        __syncwarp();
        if (ZEROS || lane < rows)
            improve_up_to(most);
        __syncwarp();
        if (length > 0) {
            const double of_nonzero =
                ZEROS ? row_term(value, model(), h()).misfit : room.left[lane] * room.left[lane];
            sum.misfit += of_nonzero;
            sum.size += fabs(of_nonzero);
        }
        this->write([&](int s, uint32_t r, auto &x) { entries_of(s, r, x); });
        return true;
    }
};
