/* Short rows that are nonnegative, or of counts: one coordinate after the other. */
#ifndef BLCO_SHORT_DESCENT_CUH
#define BLCO_SHORT_DESCENT_CUH

#include "kernels/rows/short_window.cuh"
#include "numerics/poisson_term.h"
#include "numerics/row_term.h"

constexpr int SHORT_SLOTS = 16;

template <int COLUMNS> struct short_descent : short_window<COLUMNS, SHORT_SLOTS> {
    using window = short_window<COLUMNS, SHORT_SLOTS>;
    using window::a, window::room, window::lane, window::row, window::value, window::sum,
        window::heads, window::slot, window::LD, window::each_row, window::write,
        window::short_window;

    /* The terms of this lane's nonzero. */
    __device__ __forceinline__ void make_terms() const
    {
        double m = 0;
        for (uint32_t r = 0; row.solved && r < a.rank; r++)
            m = fma(room.z[lane * LD + r], room.a[slot * LD + r], m);
        room.x[lane] = value;
        if (a.counts) {
            const struct poisson_term term =
                poisson_term_of(value, inverse(poisson_rate(m)), a.unlisted);
            room.c[lane] = term.c;
            room.w[lane] = term.w;
            room.q[lane] = term.q;
        } else {
            const struct row_term term = row_term(value, m, a.unlisted);
            room.c[lane] = term.c;
            room.w[lane] = term.w;
            room.q[lane] = 0;
        }
        room.left[lane] = room.c[lane] - room.q[lane];
    }

    /* What a lane that has the first nonzero of a row knows of the row; arrays of nonzeros begin
     * with this one. */
    struct row_facts {
        int length;
        double times;    /* the ridge                                        */
        double least;    /* of counts: the least above 0                     */
        bool solves;     /* there is a known value; of counts, one above 0   */
        double *old, *d; /* (R): the row, and its step                    */
        const double *z, *c, *w, *q;
        double *left;
    };

    __device__ __forceinline__ double ridge_of(const row_facts &f, uint32_t r) const
    {
        return f.times * __ldg(a.common.ridge + r);
    }

    /* The sum of of[i] z_r over the row's nonzeros i. */
    __device__ __forceinline__ static double sum_of(const row_facts &f, const double *of,
                                                    uint32_t r)
    {
        double sum = 0;
#pragma unroll 1
        for (int i = 0; i < f.length; i++)
            sum = fma(of[i], f.z[i * LD + r], sum);
        return sum;
    }

    /* Entry r of the gradient that does not depend on the row. */
    __device__ __forceinline__ double linear_of(const row_facts &f, uint32_t r) const
    {
        return a.counts ? __ldg(a.common.linear + r) + sum_of(f, f.q, r) : 0;
    }

    /* The trace of H, in units of `unit`. */
    __device__ __forceinline__ double trace(const row_facts &f) const
    {
        double sum = 0;
        for (uint32_t r = 0; r < a.rank; r++) {
            const double unit = __ldg(a.common.unit + r);
#pragma unroll 1
            for (int i = 0; i < f.length; i++) {
                const double z = f.z[i * LD + r] * unit;
                sum = fma(f.w[i] * z, z, sum);
            }
        }
        return sum;
    }

    __device__ __forceinline__ row_facts facts() const
    {
        row_facts f = {.length = row.length,
                       .times = 1,
                       .least = INFINITY,
                       .solves = false,
                       .old = room.a + slot * LD,
                       .d = room.d + slot * LD,
                       .z = room.z + lane * LD,
                       .c = room.c + lane,
                       .w = room.w + lane,
                       .q = room.q + lane,
                       .left = room.left + lane};
        int known = 0;
        for (int i = 0; i < f.length; i++) {
            const double x = room.x[lane + i];
            known += row_term_known(x);
            f.least = x > 0 ? fmin(f.least, x) : f.least;
        }
        f.solves = a.counts ? f.least < INFINITY : known > 0;
        if (a.counts)
            f.times = a.matrix ? trace(f) : 0;
        else if (a.counted)
            f.times = known;
        return f;
    }

    /* Of counts: the largest |min(a, gradient)|. */
    __device__ __forceinline__ double violation(const row_facts &f) const
    {
        double most = 0;
        for (uint32_t r = 0; r < a.rank; r++) {
            const double unit = __ldg(a.common.unit + r);
            const double gradient = __ldg(a.common.linear + r) - sum_of(f, f.left, r);
            most = fmax(most, fabs(fmin(f.old[r] / (unit * a.of_count), gradient * unit)));
        }
        return most;
    }

    /* Coordinate r of d; returns step^2 H_rr. */
    __device__ __forceinline__ double descend(const row_facts &f, uint32_t r, double keeps) const
    {
        const double ridge = ridge_of(f, r), old = f.old[r], now = f.d[r];
        double h = ridge;
        double down = -ridge * now - (a.counts ? __ldg(a.common.linear + r) : ridge * old);
#pragma unroll 1
        for (int i = 0; i < f.length; i++) {
            const double z = f.z[i * LD + r];
            h = fma(f.w[i] * z, z, h);
            down = fma(f.left[i], z, down);
        }
        if (!(h > 0))
            return 0;
        const double wanted = fma(down, inverse(h), now), bound = (keeps - 1) * old;
        const double step = (wanted > bound ? wanted : bound) - now;
        f.d[r] = now + step;
#pragma unroll 1
        for (int i = 0; i < f.length; i++)
            f.left[i] = fma(-step * f.w[i], f.z[i * LD + r], f.left[i]);
        return step * step * h;
    }

    /* Coordinate descent from d = 0, until a pass moves no coordinate by more than `enough`. */
    __device__ __forceinline__ void descend_all(const row_facts &f, int passes, double keeps,
                                                double enough) const
    {
        double most;
        do {
            most = 0;
#pragma unroll 1
            for (uint32_t r = 0; r < a.rank; r++)
                most = fmax(most, descend(f, r, keeps));
        } while (--passes > 0 && most > enough);
    }

    /* By what the multiplicative step multiplies entry r. */
    __device__ __forceinline__ double factor_of(const row_facts &f, uint32_t r, double linear) const
    {
        return linear > 0 ? sum_of(f, f.c, r) / linear : 1;
    }

    /* d becomes the damped Newton step; returns what that surely gains, or infinity where it is not
     * damped. */
    __device__ __forceinline__ double newton(const row_facts &f) const
    {
        double square = 0; /* d'Hd */
        descend_all(f, POISSON_PASSES, POISSON_KEEPS, POISSON_SETTLED * POISSON_SETTLED * f.least);
        for (int i = 0; i < f.length; i++) {
            const double moved = f.c[i] - f.q[i] - f.left[i];
            square += f.w[i] > 0 ? moved * moved / f.w[i] : 0;
        }
        for (uint32_t r = 0; r < a.rank; r++)
            square += ridge_of(f, r) * f.d[r] * f.d[r];
        const double length = sqrt(square / f.least);
        if (length < POISSON_WHOLE)
            return INFINITY;
        for (uint32_t r = 0; r < a.rank; r++)
            f.d[r] /= 1 + length;
        return f.least * (length - log1p(length));
    }

    /* d becomes the multiplicative step, if that surely gains more. */
    __device__ __forceinline__ void multiply_row(const row_facts &f, double gain) const
    {
        double sure = 0;
#pragma unroll 1
        for (uint32_t r = 0; gain > -INFINITY && r < a.rank; r++) {
            const double linear = linear_of(f, r), factor = factor_of(f, r, linear);
            sure += linear * f.old[r] * (factor > 0 ? factor * log(factor) - (factor - 1) : 1);
        }
        if (sure <= gain)
            return;
        for (uint32_t r = 0; r < a.rank; r++)
            f.d[r] = f.old[r] * (factor_of(f, r, linear_of(f, r)) - 1);
    }

    /* The row becomes a better one; a row of which nothing is known becomes 0. Returns the largest
     * violation of the old row. */
    __device__ __forceinline__ double improve(const row_facts &f) const
    {
        double violated = 0;
        for (uint32_t r = 0; r < a.rank; r++)
            f.d[r] = 0;
        if (f.solves && a.counts) {
            violated = violation(f);
            const double gain = a.matrix ? newton(f) : -INFINITY;
            if (gain < INFINITY)
                multiply_row(f, gain);
        } else if (f.solves) {
            descend_all(f, ROW_PASSES, 0, 0);
        }
        for (uint32_t r = 0; r < a.rank; r++) {
            const double entry = f.old[r] + f.d[r];
            f.old[r] = !f.solves || (!a.counts && entry < 0) ? 0 : entry;
        }
        return violated;
    }

    __device__ __forceinline__ double penalty(const row_facts &f) const
    {
        double of_row = 0;
        for (uint32_t r = 0; r < a.rank; r++)
            of_row = fma(ridge_of(f, r) * f.old[r], f.old[r], of_row);
        return of_row;
    }

    __device__ __forceinline__ bool solve()
    {
        bool solves = false;
        make_terms();
        __syncwarp();
        if (heads >> lane & 1) {
            const row_facts f = facts();
            solves = f.solves;
            sum.violation = fmax(sum.violation, improve(f));
            sum.penalty += a.counted && solves ? penalty(f) : 0;
        }
        __syncwarp();
        const double left = room.left[lane];
        if (row.solved && !a.counts && row_term_known(value)) {
            sum.misfit += left * left;
            sum.size += left * left;
        }
        each_row([&](int j, uint32_t r) {
            const int of_slot = __shfl_sync(ALL, slot, j);
            const double floor = a.counts && __shfl_sync(ALL, solves, j) ? a.floor : 0;
            const double entry =
                r < a.rank ? room.a[of_slot * LD + r] * __ldg(a.common.out + r) : 0;
            write(j, r, r < a.rank && entry < floor ? floor : entry); /* a NaN stays */
        });
        return true;
    }
};

#endif
