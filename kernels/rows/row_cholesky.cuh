/* The Cholesky factor of a row's H (numerics/row_term.h), by a warp: matrix instructions multiply
 * tiles of 8 x 8, and one column of tiles is found after the other. */
#pragma once

#include <stdint.h>

#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/row_warp.cuh"
#include "numerics/row_term.h"

/* What a row's system needs beside its room. */
struct row_problem {
    uint32_t rank;
    const double *v;     /* (R x R) h V; NULL where it is 0 */
    const double *ridge; /* (R)                             */
    const double *cell;  /* (R) of row_whole; NULL: 0       */
    double times;        /* the ridge                       */
    const row_rules &rules;
};

/* ROOM: struct row_room. Lane 4 g + t has entries (g, 2 t) and (g, 2 t + 1) of a tile; a vector is
 * a tile whose rows are all the same. */
template <typename ROOM> struct row_cholesky {
    static constexpr uint32_t LD = ROOM::LD;
    using tile = double[2];
    const row_problem &p;
    ROOM &room;
    const uint32_t lane, g, t;
    const uint32_t blocks; /* of 8 rows */

    __device__ __forceinline__ row_cholesky(const row_problem &problem, ROOM &storage)
        : p(problem), room(storage), lane(threadIdx.x % WARP), g(lane / 4), t(lane % 4),
          blocks((problem.rank + TILE_SIDE - 1) / TILE_SIDE)
    {
    }

    /* sum += x y'. */
    __device__ __forceinline__ static void multiply(tile &sum, const tile &x, const tile &y)
    {
        multiply_8x8x4(sum[0], sum[1], x[0], y[0]);
        multiply_8x8x4(sum[0], sum[1], x[1], y[1]);
    }

    /* The lane's row, and its first column, of tiles (k, k). */
    __device__ __forceinline__ uint32_t row_of(uint32_t k) const
    {
        return k * TILE_SIDE + g;
    }
    __device__ __forceinline__ uint32_t column_of(uint32_t k) const
    {
        return k * TILE_SIDE + 2 * t;
    }

    /* Entry (i, j) of G, whose upper half is there. */
    __device__ __forceinline__ double entry_of_g(uint32_t i, uint32_t j) const
    {
        return room.g[min(i, j) * LD + max(i, j)];
    }

    /* Entry (i, j) of H = G + h V + ridge. */
    __device__ __forceinline__ double entry_of_h(uint32_t i, uint32_t j) const
    {
        double x = entry_of_g(i, j);
        if (p.v)
            x += __ldg(p.v + i * p.rank + j);
        if (i == j)
            x += p.times * __ldg(p.ridge + i);
        return x;
    }

    /* What entry (r, r) of H, and its pivot, is compared with. */
    __device__ __forceinline__ double whole(uint32_t r) const
    {
        return row_whole(entry_of_g(r, r), p.v ? __ldg(p.v + r * p.rank + r) : 0,
                         p.times * __ldg(p.ridge + r), p.cell ? __ldg(p.cell + r) : 0);
    }

    /* Tile (i, j) below G's diagonal, and its transpose. */
    __device__ __forceinline__ void read_below(uint32_t i, uint32_t j, tile &x) const
    {
        const double *from = room.g + row_of(i) * LD + column_of(j);
        x[0] = from[0];
        x[1] = from[1];
    }
    __device__ __forceinline__ void read_transposed(uint32_t i, uint32_t j, tile &x) const
    {
        const double *from = room.g + column_of(i) * LD + row_of(j);
        x[0] = from[0];
        x[1] = from[LD];
    }

    /* x, tile (i, k) of H, loses what the columns of tiles before k give. */
    __device__ __forceinline__ void subtract_columns(uint32_t i, uint32_t k, tile &x) const
    {
        tile sum = {};
#pragma unroll 1
        for (uint32_t j = 0; j < k; j++) {
            tile left, right;
            read_below(i, j, left);
            read_below(k, j, right);
            multiply(sum, left, right);
        }
        x[0] -= sum[0];
        x[1] -= sum[1];
    }

    /* x, symmetric, becomes the inverse of its Cholesky factor. Entry (i, j) of the unit factor's
     * inverse takes the place of the entry that elimination of column j makes zero. Returns the
     * pivot of row g. */
    __device__ __forceinline__ double invert_factor(tile &x) const
    {
        double own = 1;
#pragma unroll
        for (uint32_t k = 0; k < TILE_SIDE; k++) {
            const double pivot = moved(x[k % 2], 4 * k + k / 2);
            const double of_column = moved(x[k % 2], 4 * g + k / 2);
            const double f = (g > k ? of_column : 0) * row_inverse(-pivot);
            own = g == k ? pivot : own;
#pragma unroll
            for (uint32_t e = 0; e < 2; e++) {
                const double of_row = moved(x[e], 4 * k + t);
                x[e] = g > k && 2 * t + e == k ? f : fma(f, of_row, x[e]);
            }
        }
        const double scale = rsqrt(own);
#pragma unroll
        for (uint32_t e = 0; e < 2; e++)
            x[e] = g > 2 * t + e ? scale * x[e] : g == 2 * t + e ? scale : 0;
        return own;
    }

    /* Tile (k, k): x = the inverse of that of L, which goes to the room. False where rounding has
     * eaten a pivot. */
    __device__ __forceinline__ bool make_diagonal(uint32_t k, double shift, tile &x)
    {
        const bool has_diagonal = t == g / 2;
        const double least = row_of(k) < p.rank ? ROW_SINGULAR * whole(row_of(k)) : 0;
        const uint32_t row = row_of(k), column = column_of(k);
        const bool there = row < p.rank;
        const double own = there ? fma(p.times, __ldg(p.ridge + row), shift) : 1;
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) { /* of H with the shift; beyond the rank, the identity */
            x[e] = there && column + e < p.rank ? entry_of_g(row, column + e) : 0;
            if (p.v && there && column + e < p.rank)
                x[e] += __ldg(p.v + row * p.rank + column + e);
            x[e] += row == column + e ? own : 0;
        }
        subtract_columns(k, k, x);
        const double pivot = invert_factor(x);
        if (!__all_sync(ALL, !has_diagonal || pivot > least))
            return false;
        if (has_diagonal)
            room.inverse[row_of(k)] = g % 2 ? x[1] : x[0];
        double *to = room.g + row_of(k) * LD + column_of(k);
        if (g > 2 * t)
            to[0] = x[0];
        if (g > 2 * t + 1)
            to[1] = x[1];
        return true;
    }

    /* Tile (i, k) of L, below that of which the inverse is given. */
    __device__ __forceinline__ void make_below(uint32_t i, uint32_t k, const tile &inverse_of_l)
    {
        const uint32_t row = row_of(i), column = column_of(k);
        tile x, l = {};
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) { /* of H; zero beyond the rank */
            x[e] = row < p.rank ? room.g[(column + e) * LD + row] : 0;
            if (p.v && row < p.rank)
                x[e] += __ldg(p.v + row * p.rank + column + e);
        }
        subtract_columns(i, k, x);
        multiply(l, x, inverse_of_l);
        double *to = room.g + row_of(i) * LD + column_of(k);
        to[0] = l[0];
        to[1] = l[1];
    }

    /* L, where H has the shift on its diagonal. */
    __device__ __forceinline__ bool factorise(double shift)
    {
#pragma unroll 1
        for (uint32_t k = 0; k < blocks; k++) {
            tile inverse_of_l;
            if (!make_diagonal(k, shift, inverse_of_l))
                return false;
#pragma unroll 1
            for (uint32_t i = k + 1; i < blocks; i++)
                make_below(i, k, inverse_of_l);
            __syncwarp();
        }
        return true;
    }

    /* Entries of room.step. */
    __device__ __forceinline__ void read_step(uint32_t k, tile &x) const
    {
        x[0] = room.step[column_of(k)];
        x[1] = room.step[column_of(k) + 1];
    }

    /* Entries of block k of room.step, less sum, are multiplied by m'. */
    __device__ __forceinline__ void solve_block(uint32_t k, const tile &sum, const tile &m)
    {
        tile x, y = {};
        read_step(k, x);
        x[0] -= sum[0];
        x[1] -= sum[1];
        multiply(y, x, m);
        __syncwarp();
        if (g == 0) {
            room.step[column_of(k)] = y[0];
            room.step[column_of(k) + 1] = y[1];
        }
        __syncwarp();
    }

    /* room.step (COLUMNS), zero beyond the rank, becomes the solution x of L L' x = room.step. */
    __device__ __forceinline__ void substitute()
    {
#pragma unroll 1
        for (uint32_t k = 0; k < blocks; k++) {
            tile sum = {}, x, l;
#pragma unroll 1
            for (uint32_t j = 0; j < k; j++) {
                read_step(j, x);
                read_below(k, j, l);
                multiply(sum, x, l);
            }
            const double diagonal = room.inverse[row_of(k)];
            read_below(k, k, l);
#pragma unroll
            for (uint32_t e = 0; e < 2; e++) /* the inverse of tile (k, k) of L */
                l[e] = g > 2 * t + e ? l[e] : g == 2 * t + e ? diagonal : 0;
            solve_block(k, sum, l);
        }
#pragma unroll 1
        for (uint32_t k = blocks; k-- > 0;) {
            tile sum = {}, x, l;
#pragma unroll 1
            for (uint32_t i = k + 1; i < blocks; i++) {
                read_step(i, x);
                read_transposed(i, k, l);
                multiply(sum, x, l);
            }
            const double diagonal = room.inverse[row_of(k)];
            read_transposed(k, k, l);
#pragma unroll
            for (uint32_t e = 0; e < 2; e++) /* its transpose */
                l[e] = g < 2 * t + e ? l[e] : g == 2 * t + e ? diagonal : 0;
            solve_block(k, sum, l);
        }
    }

    /* x'G x, where x is room.step, zero beyond the rank. */
    __device__ __forceinline__ double quadratic() const
    {
        double value = 0;
#pragma unroll 1
        for (uint32_t i = 0; i < blocks; i++) {
            const uint32_t row = row_of(i);
            double sum = 0;
#pragma unroll 1
            for (uint32_t j = 0; j <= i; j++) {
                const uint32_t column = column_of(j);
                const double x = room.step[column] * entry_of_g(row, column),
                             y = fma(room.step[column + 1], entry_of_g(row, column + 1), x);
                sum += j < i ? 2 * y : y;
            }
            value = fma(room.step[row], sum, value);
        }
        return warp_sum(value);
    }
};
