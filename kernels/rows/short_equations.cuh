/* Short rows where unlisted entries are unknown and there is a ridge: an equation for each nonzero
 * of a row. */
#ifndef BLCO_SHORT_EQUATIONS_CUH
#define BLCO_SHORT_EQUATIONS_CUH

#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/short_window.cuh"
#include "numerics/row_term.h"

template <int COLUMNS> struct short_equations : short_window<COLUMNS> {
    using window = short_window<COLUMNS>;
    using window::a, window::lane, window::first, window::length, window::value, window::slot,
        window::sum, window::LD, window::longest;
    static constexpr int MOST_WARPS = 16;
    static constexpr int K_LD = ROW_SHORT_EQUATIONS + 1;
    struct room_of : short_room<COLUMNS> {
        double left[WARP];     /* of each nonzero: y / the ridge                      */
        double ridge[WARP];    /* (slot): times the ridge                             */
        double k[WARP * K_LD]; /* (nonzero, how far before it): entries of Z D Z' */
    };
    static constexpr double LIMIT = 1e8; /* of K, which costs as many digits */
    room_of &room;

    __device__ __forceinline__ short_equations(const row_systems_args &args, room_of &of)
        : window(args, of), room(of)
    {
    }

    __device__ __forceinline__ double inverse_ridge(uint32_t r) const
    {
        return r < a.rank ? __ldg(a.common.inverse + r) : 0;
    }

    /* Z D Z' for nonzeros of one row, of at most 8 or 16, where D has the inverse ridges: its tiles
     * on the diagonal, below it, and, if FAR, below these, by matrix instructions. */
    template <bool FAR> __device__ __forceinline__ void multiply_all() const
    {
        constexpr int TILES = WARP / TILE_SIDE;
        const int g = lane / 4, t = lane % 4;
        double near[TILES][4] = {}, far[TILES - 2][2] = {};
#pragma unroll 1
        for (int step = 0; step < COLUMNS / TILE_SIDE; step++) {
            /* Of 16 components, lanes t have four neighbours each: in different banks. */
            const uint32_t r = step / 2 * 16 + 4 * t + step % 2 * 2;
            const double d[2] = {inverse_ridge(r), inverse_ridge(r + 1)};
            double z[TILES][2];
#pragma unroll
            for (int i = 0; i < TILES; i++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    z[i][half] = room.z[(TILE_SIDE * i + g) * LD + r + half];
#pragma unroll
            for (int i = 0; i < TILES; i++) {
                const int below = i + 1 < TILES ? i + 1 : i;
                const double right[2] = {z[i][0] * d[0], z[i][1] * d[1]};
                multiply_tiles(near[i], z[i][0], z[below][0], z[i][1], z[below][1], right[0],
                               right[1]);
                if constexpr (FAR)
                    for (int half = 0; half < 2 && i + 2 < TILES; half++)
                        multiply_8x8x4(far[i][0], far[i][1], z[i + 2][half], right[half]);
            }
        }
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            put_tile(i, i, near[i][0], near[i][1]);
            if (i + 1 < TILES)
                put_tile(i + 1, i, near[i][2], near[i][3]);
            if (FAR && i + 2 < TILES)
                put_tile(i + 2, i, far[i][0], far[i][1]);
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

    /* k[i] = entry (this nonzero, nonzero i of its row) of Z D Z'; where the row has no more
     * nonzeros, that of the last one. */
    template <int MOST> __device__ __forceinline__ void read_equations(double (&k)[MOST]) const
    {
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const int other = length > 0 ? first + min(i, length - 1) : lane;
            k[i] = room.k[max(lane, other) * K_LD + abs(lane - other)];
        }
    }

    /* The same where rows are so short that matrix instructions would find little that is needed.
     */
    template <int MOST> __device__ __forceinline__ void make_equations(double (&k)[MOST]) const
    {
        const double *mine = room.z + lane * LD, *other[MOST];
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            other[i] = room.z + (length > 0 ? first + min(i, length - 1) : lane) * LD;
            k[i] = 0;
        }
#pragma unroll 4
        for (uint32_t r = 0; r < a.rank; r++) {
            const double z = mine[r] * __ldg(a.common.inverse + r);
#pragma unroll
            for (int i = 0; i < MOST; i++)
                k[i] = fma(z, other[i][r], k[i]);
        }
    }

    /* y of K y = y for all rows at once, by elimination of one nonzero of each after the other. */
    template <int MOST>
    __device__ __forceinline__ double eliminate(double (&k)[MOST], double y) const
    {
        const int own = lane - first;
        double diagonal = 1;
#pragma unroll
        for (int p = 0; p < MOST; p++) {
            const bool there = p < length;
            const int from = there ? first + p : lane;
            const double pivot = __shfl_sync(ALL, k[p], from), of_y = __shfl_sync(ALL, y, from);
            const double f = there && own != p ? k[p] * inverse(pivot) : 0;
            diagonal = own == p ? pivot : diagonal;
#pragma unroll
            for (int i = p + 1; i < MOST; i++)
                k[i] -= f * __shfl_sync(ALL, k[i], from);
            y -= f * of_y;
        }
        return y * inverse(diagonal);
    }

    /* Of the row of slot s, from y. */
    template <int WIDTH>
    __device__ __forceinline__ void entries_of(int s, uint32_t r, double (&x)[WIDTH])
    {
        this->sums_of(room.row[s], room.left, r, x);
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            x[e] *= this->common_at(a.common.inverse, r + e);
            if (a.counted && r + e < a.rank)
                sum.penalty += room.ridge[s] * __ldg(a.common.ridge + r + e) * x[e] * x[e];
            x[e] *= this->common_at(a.common.out, r + e);
        }
    }

    /* With the ridge D^-1, a row's minimum is a = D Z' y, where (Z D Z' + 1) y = x has an equation
     * for each known nonzero; y is what is left of x. Finds y; false, and nothing is done, where
     * K is so large beside 1 that y would lose digits. No row has more than MOST nonzeros. */
    template <int MOST> __device__ __forceinline__ bool solve_rows()
    {
        const uint32_t lanes = length > 0 ? (2u << (first + length - 1)) - (1u << first) : 0;
        const uint32_t known = __ballot_sync(ALL, length > 0 && row_term_known(value));
        const bool counts = known >> lane & 1;
        const int of_row = __popc(known & lanes);
        const double times = a.counted ? of_row : 1, share = of_row > 0 ? 1 / times : 0;
        double k[MOST];
        bool small = true;
        if constexpr (MOST <= 2) {
            make_equations(k);
        } else {
            multiply_all<(MOST > TILE_SIDE)>();
            read_equations(k);
        }
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const bool both = counts && i < length && known >> (first + i) & 1;
            k[i] = both ? share * k[i] : 0;
            small = small && fabs(k[i]) < LIMIT;
            k[i] += first + i == lane;
        }
        if (!__all_sync(ALL, small))
            return false;
        const double y = eliminate(k, counts ? value : 0);
        room.left[lane] = counts ? y * share : 0;
        if (length > 0 && lane == first)
            room.ridge[slot] = times;
        sum.misfit += counts ? y * y : 0;
        sum.size += counts ? y * y : 0;
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
        this->gather_all();
        if (!solve_all())
            return false;
        __syncwarp();
        this->write([&](int s, uint32_t r, auto &x) { entries_of(s, r, x); });
        return true;
    }
};

#endif
