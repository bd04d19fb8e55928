/* Short rows that are nonnegative, or of counts and take a Newton step: one coordinate after the
 * other, by a lane for each row. */
#ifndef BLCO_SHORT_DESCENT_CUH
#define BLCO_SHORT_DESCENT_CUH

#include "kernels/rows/short_terms.cuh"

constexpr int DESCENT_SLOTS = 20; /* leave shared memory for eight warps at rank 32 */

template <int COLUMNS> struct short_descent : short_terms<COLUMNS, DESCENT_SLOTS> {
    using terms_of = short_terms<COLUMNS, DESCENT_SLOTS>;
    using terms_of::a, terms_of::lane, terms_of::length, terms_of::first, terms_of::rows,
        terms_of::value, terms_of::sum, terms_of::LD, terms_of::longest;
    static constexpr int SLOTS = DESCENT_SLOTS;
    struct room_of : short_terms_room<COLUMNS, SLOTS> {
        double d[SLOTS * short_room<COLUMNS>::LD]; /* (slot, component): the steps        */
        double inverse[SLOTS *
                       short_room<COLUMNS>::LD]; /* ... 1 / H_rr; 0 where this is not above 0 */
        double x[WARP];                          /* of each nonzero                     */
        double misfit[WARP];                     /* of each nonzero, afterwards         */
        bool solves[SLOTS]; /* (slot): there is a known value; of counts, one above 0 */
    };
    room_of &room;

    __device__ __forceinline__ short_descent(const row_systems_args &args, room_of &of)
        : terms_of(args, of), room(of)
    {
    }

    /* The row of slot `lane`, which has at most MOST nonzeros; those beyond its last one add
     * nothing. */
    template <int MOST> struct row_facts {
        int length;
        double w[MOST], left[MOST]; /* c - q - w e, where e = z d                 */
        const double *z[MOST];      /* (R)                                        */
        double *old, *d, *inverse;  /* (R): the row, its step, 1 / H_rr           */
        double times;               /* the ridge                                  */
        double least;               /* of counts: the least above 0               */
        bool solves;
    };

    template <int MOST> __device__ __forceinline__ row_facts<MOST> facts() const
    {
        const short_row row = room.row[lane];
        row_facts<MOST> f = {.length = row.length,
                             .old = room.old + lane * LD,
                             .d = room.d + lane * LD,
                             .inverse = room.inverse + lane * LD,
                             .times = 1,
                             .least = INFINITY};
        int known = 0;
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const int j = row.first + min(i, row.length - 1);
            const bool there = i < row.length;
            const double x = there ? room.x[j] : NAN;
            f.z[i] = room.z + j * LD;
            f.w[i] = there ? room.w[j] : 0;
            f.left[i] = there ? room.c[j] - room.q[j] : 0;
            known += row_term_known(x);
            f.least = x > 0 ? fmin(f.least, x) : f.least;
        }
        f.solves = a.counts ? f.least < INFINITY : known > 0;
        if (a.counts)
            f.times = trace(f);
        else if (a.counted)
            f.times = known;
        return f;
    }

    /* The trace of H, in units of `unit`. */
    template <int MOST> __device__ __forceinline__ double trace(const row_facts<MOST> &f) const
    {
        double sum = 0;
        for (uint32_t r = 0; r < a.rank; r++) {
            const double unit = __ldg(a.common.unit + r);
#pragma unroll
            for (int i = 0; i < MOST; i++) {
                const double z = f.z[i][r] * unit;
                sum = fma(f.w[i] * z, z, sum);
            }
        }
        return sum;
    }

    template <int MOST>
    __device__ __forceinline__ double ridge_of(const row_facts<MOST> &f, uint32_t r) const
    {
        return f.times * __ldg(a.common.ridge + r);
    }

    /* What does not change while coordinates descend: d = 0, and the inverse of each H_rr. */
    template <int MOST> __device__ __forceinline__ void begin(row_facts<MOST> &f) const
    {
#pragma unroll 2
        for (uint32_t r = 0; r < a.rank; r++) {
            double even = ridge_of(f, r), odd = 0;
#pragma unroll
            for (int i = 0; i < MOST; i++) {
                const double z = f.z[i][r];
                (i % 2 ? odd : even) = fma(f.w[i] * z, z, i % 2 ? odd : even);
            }
            const double h = even + odd;
            f.inverse[r] = h > 0 ? inverse(h) : 0;
            f.d[r] = 0;
        }
    }

    /* What a step of coordinate r needs, but for what other steps change. */
    template <int MOST> struct coordinate {
        double z[MOST], old, inverse, ridge, linear;
    };

    template <int MOST>
    __device__ __forceinline__ coordinate<MOST> coordinate_at(const row_facts<MOST> &f,
                                                              uint32_t r) const
    {
        coordinate<MOST> x = {.old = f.old[r],
                              .inverse = f.inverse[r],
                              .ridge = ridge_of(f, r),
                              .linear = a.counts ? __ldg(a.common.linear + r) : 0};
#pragma unroll
        for (int i = 0; i < MOST; i++)
            x.z[i] = f.z[i][r];
        return x;
    }

    /* Coordinate r of d; whether step^2 H_rr is above `enough`. */
    template <int MOST>
    __device__ __forceinline__ bool descend(row_facts<MOST> &f, uint32_t r,
                                            const coordinate<MOST> &x, double keeps,
                                            double enough) const
    {
        const double now = f.d[r];
        double even = a.counts ? -x.linear : -x.ridge * x.old, odd = 0;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            (i % 2 ? odd : even) = fma(f.left[i], x.z[i], i % 2 ? odd : even);
        const double down = fma(-x.ridge, now, even + odd);
        const double wanted = fma(down, x.inverse, now), bound = (keeps - 1) * x.old;
        const double step = (wanted > bound ? wanted : bound) - now;
        f.d[r] = now + step;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            f.left[i] = fma(-step * f.w[i], x.z[i], f.left[i]);
        return step * step > enough * x.inverse;
    }

    /* Coordinate descent, until a pass moves no coordinate by more than `enough`. A coordinate is
     * read while the one before it descends. */
    template <int MOST>
    __device__ __forceinline__ void descend_all(row_facts<MOST> &f, int passes, double keeps,
                                                double enough) const
    {
        begin(f);
        coordinate<MOST> x = coordinate_at(f, 0);
        for (bool moved = true; moved && passes > 0; passes--) {
            moved = false;
#pragma unroll 1
            for (uint32_t r = 0; r < a.rank; r++) {
                const uint32_t later = r + 1 < a.rank ? r + 1 : 0;
                const coordinate<MOST> next = coordinate_at(f, later);
                moved |= descend(f, r, x, keeps, enough);
                x = next;
            }
        }
    }

    /* d becomes the damped Newton step; returns what that surely gains, or infinity where it is not
     * damped. */
    template <int MOST> __device__ __forceinline__ double newton(row_facts<MOST> &f) const
    {
        double square = 0; /* d'Hd */
        const short_row row = room.row[lane];
        descend_all(f, POISSON_PASSES, POISSON_KEEPS, POISSON_SETTLED * POISSON_SETTLED * f.least);
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const int j = row.first + min(i, row.length - 1);
            const double moved = room.c[j] - room.q[j] - f.left[i];
            square += f.w[i] > 0 ? moved * moved / f.w[i] : 0;
        }
        for (uint32_t r = 0; r < a.rank; r++)
            square += ridge_of(f, r) * f.d[r] * f.d[r];
        const double length = sqrt(square / f.least);
        if (length < POISSON_WHOLE)
            return INFINITY;
        const double part = 1 / (1 + length);
        for (uint32_t r = 0; r < a.rank; r++)
            f.d[r] *= part;
        return f.least * (length - log1p(length));
    }

    /* By what the multiplicative step multiplies entry r; *linear: its gradient's part that does
     * not depend on the row. */
    __device__ __forceinline__ double factor_of(const short_row &row, uint32_t r,
                                                double *linear) const
    {
        double b[1], of_all[1];
        this->gradients_of(row, r, b, of_all);
        *linear = of_all[0];
        return *linear > 0 ? b[0] / *linear : 1;
    }

    /* d becomes the multiplicative step, if that surely gains more. */
    __device__ __forceinline__ void multiply_row(double gain) const
    {
        const short_row row = room.row[lane];
        double *old = room.old + lane * LD, *d = room.d + lane * LD, sure = 0, linear;
#pragma unroll 1
        for (uint32_t r = 0; r < a.rank; r++) {
            const double factor = factor_of(row, r, &linear);
            sure += linear * old[r] * (factor > 0 ? factor * log(factor) - (factor - 1) : 1);
        }
        if (sure <= gain)
            return;
        for (uint32_t r = 0; r < a.rank; r++)
            d[r] = old[r] * (factor_of(row, r, &linear) - 1);
    }

    /* d of the row of slot `lane` becomes a step; of counts, returns what that surely gains, or
     * infinity. */
    template <int MOST> __device__ __forceinline__ double improve()
    {
        row_facts<MOST> f = facts<MOST>();
        const short_row row = room.row[lane];
        double gain = INFINITY;
        if (f.solves && a.counts)
            gain = newton(f);
        else if (f.solves)
            descend_all(f, ROW_PASSES, 0, 0);
#pragma unroll
        for (int i = 0; i < MOST; i++)
            if (i < row.length)
                room.misfit[row.first + i] = f.left[i] * f.left[i];
        room.solves[lane] = f.solves;
        sum.penalty += a.counted && f.solves ? penalty(f) : 0;
        return gain;
    }

    __device__ __forceinline__ double improve_up_to(int most)
    {
        if (most <= 1)
            return improve<1>();
        if (most <= 2)
            return improve<2>();
        if (most <= 4)
            return improve<4>();
        return improve<ROW_SHORT_DESCENT>();
    }

    /* Of the new row. */
    template <int MOST> __device__ __forceinline__ double penalty(const row_facts<MOST> &f) const
    {
        double of_row = 0;
        for (uint32_t r = 0; r < a.rank; r++) {
            const double entry = fmax(f.old[r] + f.d[r], 0.0);
            of_row = fma(ridge_of(f, r) * entry, entry, of_row);
        }
        return of_row;
    }

    /* Of the new row of slot s. */
    template <int WIDTH>
    __device__ __forceinline__ void entries_of(int s, uint32_t r, double (&x)[WIDTH])
    {
        double b[WIDTH], linear[WIDTH];
        if (a.counts)
            this->gradients_of(room.row[s], r, b, linear);
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            const double old = room.old[s * LD + r + e], entry = old + room.d[s * LD + r + e];
            const double out = this->common_at(a.common.out, r + e);
            if (!room.solves[s])
                x[e] = 0;
            else if (a.counts)
                x[e] = entry * out < a.floor ? a.floor : entry * out; /* a NaN stays */
            else
                x[e] = entry < 0 ? 0 : entry * out;
            if (a.counts && room.solves[s] && r + e < a.rank)
                sum.violation = fmax(sum.violation, this->violation(old, linear[e] - b[e], r + e));
        }
    }

    __device__ __forceinline__ bool solve()
    {
        const int most = longest();
        double gain = INFINITY;
        room.x[lane] = value;
        this->make_terms();
        if (lane < rows)
            gain = improve_up_to(most);
        if (gain < INFINITY)
            multiply_row(gain);
        __syncwarp();
        if (length > 0 && !a.counts && row_term_known(value)) {
            sum.misfit += room.misfit[lane];
            sum.size += room.misfit[lane];
        }
        this->write([&](int s, uint32_t r, auto &x) { entries_of(s, r, x); });
        return true;
    }
};

#endif
