/* Solves the system of a row (numerics/row_term.h), by a warp. The steps are those of
 * host_row_solve.c. */
#ifndef BLCO_ROW_SOLVE_CUH
#define BLCO_ROW_SOLVE_CUH

#include <stdint.h>

#include "kernels/rows/row_args.h"
#include "kernels/rows/row_warp.cuh"
#include "numerics/row_term.h"

/* A warp's room for the system of a row; lane l has entries l and l + 32 of what is in registers.
 * The stride of g keeps the lanes of a column apart. Vectors of 16 bytes are read from `old` and z.
 */
template <int COLUMNS_OF> struct alignas(16) row_room {
    static constexpr int COLUMNS = COLUMNS_OF;
    static constexpr int LD = COLUMNS + 1;
    static constexpr int PARTS = (COLUMNS + 31) / 32; /* entries of a vector in a lane */
    double g[COLUMNS * LD]; /* G's entries (i, j) with i <= j; below the diagonal, the factor L */
    double b[COLUMNS];
    union {
        alignas(16) double old[COLUMNS]; /* the old row, while nonzeros are added */
        double step[COLUMNS];            /* d of H d = q                          */
        double q[COLUMNS];               /* of counts, after that                 */
    };
    row_totals totals; /* of the span */
    /* z of a batch of nonzeros, where registers have no room for it. */
    static constexpr bool HOLDS_BATCH = COLUMNS > 32;
    alignas(16) double z[HOLDS_BATCH ? 8 * (COLUMNS + 8) : 1];
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
        : p(problem), room(of), lane(threadIdx.x % 32)
    {
    }

    __device__ __forceinline__ uint32_t entry(int part) const
    {
        return lane + 32 * part;
    }

    /* Entry r of a vector in registers, for all lanes. */
    __device__ __forceinline__ double of_all(const double (&x)[PARTS], uint32_t r) const
    {
        double from = x[0];
        if (PARTS > 1 && r >= 32)
            from = x[PARTS - 1];
        return __shfl_sync(ALL, from, r % 32);
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

    /* Column k of L, where H has the shift on its diagonal, and entry k of y, L y = q; q becomes
     * what is left of it, and y stands in d. False where rounding has eaten the pivot. */
    __device__ __forceinline__ bool eliminate(uint32_t k, double shift)
    {
        double column[PARTS], pivot = 0;
        for (int part = 0; part < PARTS; part++) {
            const uint32_t i = entry(part);
            double sum = 0;
            if (i >= k && i < p.rank) {
                double even = h(k, i), odd = 0;
                uint32_t j = 0;
                for (; j + 2 <= k; j += 2) {
                    even -= room.g[i * LD + j] * room.g[k * LD + j];
                    odd -= room.g[i * LD + j + 1] * room.g[k * LD + j + 1];
                }
                if (j < k)
                    even -= room.g[i * LD + j] * room.g[k * LD + j];
                sum = even + odd;
            }
            column[part] = sum;
        }
        const double whole = h(k, k) + shift;
        pivot = of_all(column, k) + shift;
        if (!(pivot > ROW_SINGULAR * whole))
            return false;
        const double inverse = 1 / sqrt(pivot), y = of_all(q, k) * inverse;
        for (int part = 0; part < PARTS; part++) {
            const uint32_t i = entry(part);
            const double l = column[part] * inverse;
            if (i > k && i < p.rank) {
                room.g[i * LD + k] = l;
                q[part] -= l * y;
            } else if (i == k) {
                room.step[k] = inverse;
                d[part] = y;
            }
        }
        __syncwarp();
        return true;
    }

    __device__ __forceinline__ bool factorise(double shift)
    {
        for (uint32_t k = 0; k < p.rank; k++)
            if (!eliminate(k, shift))
                return false;
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

    /* Coordinate r of d; returns step^2 H_rr. inverse: of the diagonal of H, 0 where that is not
     * positive. */
    __device__ __forceinline__ double descend(uint32_t r, const double (&inverse)[PARTS])
    {
        double step = 0;
        for (int part = 0; part < PARTS; part++)
            if (entry(part) == r && inverse[part] > 0) {
                const double wanted = d[part] + q[part] * inverse[part];
                const double bound = (p.keeps - 1) * a[part];
                step = (wanted > bound ? wanted : bound) - d[part];
                d[part] += step;
            }
        step = __shfl_sync(ALL, step, r % 32);
        if (step == 0)
            return 0;
        double own = 0;
        for (int part = 0; part < PARTS; part++)
            if (entry(part) < p.rank) {
                const double hr = h(r, entry(part));
                q[part] -= step * hr;
                own = entry(part) == r ? hr : own;
            }
        return step * step * __shfl_sync(ALL, own, r % 32);
    }

    /* Coordinate descent, until a pass moves no coordinate by more than `enough`. */
    __device__ __forceinline__ void solve_nonneg(int passes, double enough)
    {
        double inverse[PARTS], most;
        for (int k = 0; k < PARTS; k++) {
            const double hr = entry(k) < p.rank ? h(entry(k), entry(k)) : 0;
            inverse[k] = hr > 0 ? 1 / hr : 0;
        }
        do {
            most = 0;
            for (uint32_t r = 0; r < p.rank; r++)
                most = fmax(most, descend(r, inverse));
        } while (--passes > 0 && most > enough);
    }

    /* d G d' - 2 d b': by how much the misfit of the listed entries changes. */
    __device__ __forceinline__ double change()
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
            double gd = -2 * room.b[r];
            for (uint32_t i = 0; i < p.rank; i++)
                gd += g(i, r) * room.step[i];
            sum += d[k] * gd;
        }
        return warp_sum(sum);
    }

    /* a becomes a + d; returns change(). Room and a are filled, for all lanes of the warp to see.
     */
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
