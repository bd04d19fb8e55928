/* Solves the system of a row (numerics/row_term.h), by a warp. The steps are those of
 * host_row_solve.c. */
#ifndef BLCO_ROW_SOLVE_CUH
#define BLCO_ROW_SOLVE_CUH

#include <stdint.h>

#include "kernels/rows/row_args.h"
#include "kernels/rows/row_batches.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "kernels/rows/row_warp.cuh"
#include "numerics/row_term.h"

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
        double step[COLUMNS];            /* the inverse of L's diagonal, then d   */
        double q[COLUMNS];               /* of counts, once nonzeros are added    */
    };
    row_totals totals;   /* of the span                                          */
    row_numbers numbers; /* of the second warp's nonzeros, where there is one    */
    uint32_t work;       /* what the warps of a thread block have taken          */
    /* G's entries (i, j) with i <= j; below the diagonal, the factor L. While nonzeros are added,
     * their stages, or what a run needs, are in its place, and may be longer. */
    alignas(16) double g[COLUMNS * LD];
};

/* What a row's system needs beside its room. */
struct row_problem {
    uint32_t rank;
    const double *v;     /* (R x R) h V; NULL where it is 0 */
    const double *ridge; /* (R)                             */
    double times;        /* the ridge                       */
    bool nonneg;
    double keeps; /* of an entry: no step of a nonnegative row leaves less */
};

template <int COLUMNS> struct row_solver {
    using room_of = row_room<COLUMNS>;
    static constexpr int LD = room_of::LD, PARTS = room_of::PARTS;
    const row_problem &p;
    room_of &room;
    const uint32_t lane;
    double a[PARTS], q[PARTS], d[PARTS];

    __device__ __forceinline__ row_solver(const row_problem &problem, room_of &of)
        : p(problem), room(of), lane(threadIdx.x % WARP)
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

    __device__ __forceinline__ double g(uint32_t i, uint32_t j) const
    {
        return i < j ? room.g[i * LD + j] : room.g[j * LD + i];
    }

    /* H = G + h V + ridge. */
    __device__ __forceinline__ double h(uint32_t i, uint32_t j) const
    {
        double x = g(i, j);
        if (p.v)
            x += __ldg(p.v + i * p.rank + j);
        if (i == j)
            x += p.times * __ldg(p.ridge + i);
        return x;
    }

    /* q = b - h V a - ridge a. */
    __device__ __forceinline__ void make_gradient()
    {
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
    }

    /* Columns of L that are found together, as many as registers have room for. */
    static constexpr int PANEL = PARTS > 1 ? 2 : 8;
    using panel = double[PARTS][PANEL];

    /* x = the panel of H from column `first` on, less what the columns of L before it give. Entries
     * above the diagonal and beyond the rank are anything. */
    __device__ __forceinline__ void begin_panel(panel &x, uint32_t first) const
    {
        const double *row[PARTS], *of_panel = room.g + first * LD;
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            const uint32_t i = min(entry(part), p.rank - 1);
            row[part] = room.g + i * LD;
#pragma unroll
            for (int c = 0; c < PANEL; c++)
                x[part][c] = h(i, min(first + c, p.rank - 1));
        }
#pragma unroll 2
        for (uint32_t j = 0; j < first; j++) {
            double l[PARTS];
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                l[part] = row[part][j];
#pragma unroll
            for (int c = 0; c < PANEL; c++) {
                const double of_column = of_panel[c * LD + j];
#pragma unroll
                for (int part = 0; part < PARTS; part++)
                    x[part][c] = fma(-l[part], of_column, x[part][c]);
            }
        }
    }

    /* Column C of a panel, k of L: x becomes that of L, and of the columns after it what is left; q
     * becomes what is left of it, and entry k of y, L y = q, stands in d. False where rounding has
     * eaten the pivot. */
    template <int C> __device__ __forceinline__ bool eliminate(panel &x, uint32_t k, double shift)
    {
        double column[PARTS];
#pragma unroll
        for (int part = 0; part < PARTS; part++)
            column[part] = x[part][C];
        const double pivot = of_all(column, k) + shift;
        if (!(pivot > ROW_SINGULAR * (h(k, k) + shift)))
            return false;
        const double inverse = rsqrt(pivot), y = of_all(q, k) * inverse;
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            const uint32_t i = entry(part);
            column[part] *= inverse;
            if (i > k && i < p.rank) {
                room.g[i * LD + k] = column[part];
                q[part] = fma(-column[part], y, q[part]);
            } else if (i == k) {
                room.step[k] = inverse;
                d[part] = y;
            }
        }
#pragma unroll
        for (int c = C + 1; c < PANEL; c++) {
            const double l = of_all(column, min(k + c - C, p.rank - 1));
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                x[part][c] = fma(-column[part], l, x[part][c]);
        }
        return true;
    }

    template <int C = 0>
    __device__ __forceinline__ bool eliminate_from(panel &x, uint32_t first, double shift)
    {
        if constexpr (C < PANEL) {
            if (first + C < p.rank)
                return eliminate<C>(x, first + C, shift) && eliminate_from<C + 1>(x, first, shift);
        }
        return true;
    }

    /* L, where H has the shift on its diagonal. */
    __device__ __forceinline__ bool factorise(double shift)
    {
        for (uint32_t first = 0; first < p.rank; first += PANEL) {
            panel x;
            begin_panel(x, first);
            if (!eliminate_from(x, first, shift))
                return false;
            __syncwarp();
        }
        return true;
    }

    /* d = the solution of L' d = y, y in d; room.step has the inverse of L's diagonal. */
    __device__ __forceinline__ void substitute()
    {
        for (uint32_t k = p.rank; k-- > 0;) {
            const double dk = of_all(d, k) * room.step[k];
            for (int part = 0; part < PARTS; part++) {
                const uint32_t i = entry(part);
                if (i < k)
                    d[part] -= room.g[k * LD + i] * dk;
                else if (i == k)
                    d[part] = dk;
            }
        }
        __syncwarp();
    }

    __device__ __forceinline__ double mean_diagonal() const
    {
        double sum = 0;
        for (int k = 0; k < PARTS; k++)
            if (entry(k) < p.rank)
                sum += h(entry(k), entry(k));
        return warp_sum(sum) / p.rank;
    }

    /* Where H is singular, a small multiple of the identity is added to it. */
    __device__ __forceinline__ void solve_free()
    {
        if (factorise(0)) {
            substitute();
            return;
        }
        const double mean = mean_diagonal();
        for (double shift = ROW_SHIFT; mean > 0 && shift <= ROW_SHIFT_END; shift *= ROW_SHIFT_UP) {
            make_gradient();
            __syncwarp();
            if (factorise(shift * mean)) {
                substitute();
                return;
            }
        }
        for (int k = 0; k < PARTS; k++)
            d[k] = 0;
    }

    /* Entries (r, entry of a part) of H; on the diagonal, without the ridge. */
    __device__ __forceinline__ void read_row(uint32_t r, double (&x)[PARTS]) const
    {
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            const uint32_t i = min(entry(k), p.rank - 1);
            x[k] = g(r, i);
            if (p.v)
                x[k] += __ldg(p.v + r * p.rank + i);
        }
    }

    /* The diagonal of H, and its inverse, 0 where that is not positive. */
    struct diagonal {
        double of[PARTS], inverse[PARTS];
    };

    /* Coordinate r of d, of which x has the row of H; whether step^2 H_rr is above `enough`. All
     * lanes find the steps of their coordinates: nobody waits for one of them. */
    __device__ __forceinline__ bool descend(uint32_t r, const double (&x)[PARTS],
                                            const diagonal &of_h, double enough)
    {
        double wish[PARTS];
        bool moved = false;
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            const double wanted = fma(q[k], of_h.inverse[k], d[k]), bound = (p.keeps - 1) * a[k];
            wish[k] = of_h.inverse[k] > 0 ? (wanted > bound ? wanted : bound) - d[k] : 0;
        }
        const double step = of_all(wish, r);
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            const bool own = entry(k) == r;
            q[k] = fma(-step, own ? of_h.of[k] : x[k], q[k]);
            d[k] += own ? step : 0;
            moved |= own && step * step * of_h.of[k] > enough;
        }
        return moved;
    }

    /* Coordinate descent, until a pass moves no coordinate by more than `enough`. A row of H is
     * read while the coordinate before it descends. */
    __device__ __forceinline__ void solve_nonneg(int passes, double enough)
    {
        diagonal of_h;
        double x[PARTS], next[PARTS];
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            of_h.of[k] = entry(k) < p.rank ? h(entry(k), entry(k)) : 0;
            of_h.inverse[k] = of_h.of[k] > 0 ? 1 / of_h.of[k] : 0;
        }
        read_row(0, x);
        for (bool moved = true; moved && passes > 0; passes--) {
            moved = false;
            for (uint32_t r = 0; r < p.rank; r++) {
                read_row(r + 1 < p.rank ? r + 1 : 0, next);
                moved |= descend(r, x, of_h, enough);
#pragma unroll
                for (int k = 0; k < PARTS; k++)
                    x[k] = next[k];
            }
            moved = __any_sync(ALL, moved);
        }
    }

    /* d'(G d + y), where y(r) is entry r of y; d is put into the room, where q was. */
    template <typename Y> __device__ __forceinline__ double quadratic(Y &&y)
    {
        double sum = 0;
        for (int k = 0; k < PARTS; k++)
            if (entry(k) < p.rank)
                room.step[entry(k)] = d[k];
        __syncwarp();
        for (int k = 0; k < PARTS; k++) {
            const uint32_t r = entry(k);
            if (r >= p.rank)
                continue;
            double gd = y(r);
#pragma unroll 4
            for (uint32_t i = 0; i < p.rank; i++)
                gd += g(i, r) * room.step[i];
            sum += d[k] * gd;
        }
        return warp_sum(sum);
    }

    /* By how much the misfit of the listed entries changes: d'G d - 2 d'b. */
    __device__ __forceinline__ double change()
    {
        return quadratic([&](uint32_t r) { return -2 * room.b[r]; });
    }

    /* a becomes a + d; returns change(). All lanes see b and G in the room, and have their a. */
    __device__ __forceinline__ double solve()
    {
        make_gradient();
        if (p.nonneg)
            solve_nonneg(ROW_PASSES, 0);
        else
            solve_free();
        const double changed = change();
        for (int k = 0; k < PARTS; k++)
            a[k] = p.nonneg && a[k] + d[k] < 0 ? 0 : a[k] + d[k];
        return changed;
    }
};

#endif
