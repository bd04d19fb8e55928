/* Solves the system of a row (numerics/row_term.h), by a warp. The steps are those of
 * host_row_squares.c. */
#pragma once

#include <stdint.h>

#include "kernels/rows/row_args.h"
#include "kernels/rows/row_batches.cuh"
#include "kernels/rows/row_cholesky.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/row_warp.cuh"
#include "numerics/row_term.h"
#include "numerics/unrolled.cuh"

/* Numbers of a system beside b, G and q. */
struct row_numbers {
    double known; /* listed entries whose value is known */
    union {
        double misfit; /* struct row_totals, with the row as it was */
        double least;  /* of counts: the least above 0, or infinity */
    };
    double size; /* struct row_totals */
};

/* The room for the system of a row; lane l has entries l and l + WARP of what is in registers. The
 * stride of g keeps the lanes of a column apart. Vectors of 16 bytes are read from `old`. */
template <int COLUMNS_OF> struct alignas(16) row_room {
    static constexpr int COLUMNS = COLUMNS_OF;
    static constexpr int LD = COLUMNS + 1;
    static constexpr int PARTS = (COLUMNS + WARP - 1) / WARP; /* entries of a vector in a lane */
    double b[COLUMNS];
    union {
        alignas(16) double old[COLUMNS]; /* the old row, while nonzeros are added */
        double step[COLUMNS];            /* d                                     */
        double q[COLUMNS];               /* of counts, once nonzeros are added    */
    };
    double inverse[COLUMNS]; /* of L's diagonal                                      */
    row_totals totals;       /* of the chunk                                          */
    row_numbers numbers;     /* of the second warp's nonzeros, where there is one    */
    uint32_t work;           /* what the warps of a thread block have taken          */
    /* G's entries (i, j) with i <= j; below the diagonal, the factor L, but of its tiles on the
     * diagonal the inverses. While nonzeros are added, their stages, or what a run needs, are in
     * its place, and may be longer. */
    alignas(16) double g[COLUMNS * LD];
};

template <int COLUMNS> struct row_solver : row_cholesky<row_room<COLUMNS>> {
    using room_of = row_room<COLUMNS>;
    using factor = row_cholesky<room_of>;
    using factor::p, factor::room, factor::lane, factor::entry_of_g, factor::entry_of_h,
        factor::factorise, factor::substitute;
    static constexpr int PARTS = room_of::PARTS;
    double a[PARTS], q[PARTS], d[PARTS];

    __device__ __forceinline__ row_solver(const row_problem &problem, room_of &storage)
        : factor(problem, storage)
    {
    }

    __device__ __forceinline__ uint32_t entry(int part) const
    {
        return lane + WARP * part;
    }

    /* Entry r of a vector in registers, for all lanes. */
    __device__ __forceinline__ double of_all(const double (&x)[PARTS], uint32_t r) const
    {
        double from = x[0];
        if (PARTS > 1 && r >= WARP)
            from = x[PARTS - 1];
        return __shfl_sync(ALL, from, r % WARP);
    }

    /* room.step = x, and zero beyond the rank. */
    __device__ __forceinline__ void put_step(const double (&x)[PARTS])
    {
        for (int k = 0; k < PARTS; k++)
            if (entry(k) < COLUMNS)
                room.step[entry(k)] = entry(k) < p.rank ? x[k] : 0;
        __syncwarp();
    }

    /* Where H is singular, a small multiple of the identity is added to it. */
    __device__ __forceinline__ void solve_free()
    {
        double shift = 0, mean = 1;
#pragma unroll 1
        while (!factorise(shift * mean)) {
            if (shift == 0) {
                double whole = 0;
                for (int k = 0; k < PARTS; k++)
                    if (entry(k) < p.rank)
                        whole += this->whole(entry(k));
                mean = warp_sum(whole) / p.rank;
            }
            shift = shift == 0 ? ROW_SHIFT : shift * ROW_SHIFT_UP;
            if (!(mean > 0 && shift <= ROW_SHIFT_END))
                return;
        }
        put_step(q);
        substitute();
        for (int k = 0; k < PARTS; k++)
            d[k] = entry(k) < p.rank ? room.step[entry(k)] : 0;
    }

    /* Entries (r, entry of a part) of H; on the diagonal, without the ridge. */
    __device__ __forceinline__ void read_row(uint32_t r, double (&x)[PARTS]) const
    {
        EACH_UNROLLED(k, PARTS) {
            const uint32_t i = min(entry(k), p.rank - 1);
            x[k] = entry_of_g(r, i);
            if (p.v)
                x[k] += __ldg(p.v + r * p.rank + i);
        }
    }

    /* The diagonal of H, and its inverse, 0 where the entry says nothing (row_whole). */
    struct diagonal {
        double entry[PARTS], inverse[PARTS];
    };

    /* Coordinate r of d, of which x has the row of H; whether step^2 H_rr is above `enough`. All
     * lanes find the steps of their coordinates: nobody waits for one of them. */
    __device__ __forceinline__ bool descend(uint32_t r, const double (&x)[PARTS],
                                            const diagonal &of_h, double enough, prox_rule rule)
    {
        double wish[PARTS];
        bool moved = false;
        EACH_UNROLLED(k, PARTS) {
            const double wanted = fma(q[k], of_h.inverse[k], d[k]);
            wish[k] = of_h.inverse[k] > 0 ? prox(wanted, a[k], rule) - d[k] : 0;
        }
        const double step = of_all(wish, r);
        EACH_UNROLLED(k, PARTS) {
            const bool own = entry(k) == r;
            q[k] = fma(-step, own ? of_h.entry[k] : x[k], q[k]);
            d[k] += own ? step : 0;
            moved |= own && step * step * of_h.entry[k] > enough;
        }
        return moved;
    }

    /* Coordinate descent by this rule, until a pass moves no
     * coordinate by more than `enough`. A row of H is read while the coordinate before it descends.
     */
    __device__ __forceinline__ void solve_nonneg(int passes, double enough, prox_rule rule)
    {
        diagonal of_h;
        double x[PARTS], next[PARTS];
        EACH_UNROLLED(k, PARTS) {
            of_h.entry[k] = entry(k) < p.rank ? entry_of_h(entry(k), entry(k)) : 0;
            const double least = entry(k) < p.rank ? ROW_SINGULAR * this->whole(entry(k)) : 0;
            of_h.inverse[k] = of_h.entry[k] > least ? 1 / of_h.entry[k] : 0;
        }
        read_row(0, x);
        for (bool moved = true; moved && passes > 0; passes--) {
            moved = false;
            for (uint32_t r = 0; r < p.rank; r++) {
                read_row(r + 1 < p.rank ? r + 1 : 0, next);
                moved |= descend(r, x, of_h, enough, rule);
                EACH_UNROLLED(k, PARTS)
                    x[k] = next[k];
            }
            moved = __any_sync(ALL, moved);
        }
    }

    /* d'G d; d is put into the room, where q was. */
    __device__ __forceinline__ double quadratic()
    {
        put_step(d);
        return factor::quadratic();
    }

    /* By how much the misfit of the listed entries changes: d'G d - 2 d'b. */
    __device__ __forceinline__ double change()
    {
        double of_b = 0;
        for (int k = 0; k < PARTS; k++)
            of_b += entry(k) < p.rank ? d[k] * room.b[entry(k)] : 0;
        return quadratic() - 2 * warp_sum(of_b);
    }

    /* a becomes a + d; returns change(). All lanes see b and G in the room, and have their a. */
    __device__ __forceinline__ double solve()
    {
        /* q = b - h V a - ridge a */
        for (int k = 0; k < PARTS; k++) {
            const uint32_t r = entry(k);
            d[k] = 0;
            q[k] = r < p.rank ? room.b[r] - p.times * __ldg(p.ridge + r) * a[k] : 0;
        }
        for (uint32_t i = 0; p.v && i < p.rank; i++) {
            const double ai = of_all(a, i);
            for (int k = 0; k < PARTS; k++)
                if (entry(k) < p.rank)
                    q[k] -= ai * __ldg(p.v + i * p.rank + entry(k));
        }
        if (p.rules.nonneg)
            solve_nonneg(ROW_PASSES, 0, {0});
        else
            solve_free();
        const double changed = change();
        for (int k = 0; k < PARTS; k++)
            a[k] = p.rules.nonneg && a[k] + d[k] < 0 ? 0 : a[k] + d[k];
        return changed;
    }
};
