/* Short rows that are nonnegative: one coordinate after the other, by a lane for each row. */
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
        bool solves[SLOTS];                      /* (slot): there is a known value      */
    };
    room_of &room;

    __device__ __forceinline__ short_descent(const row_systems_args &args, room_of &of)
        : terms_of(args, of), room(of)
    {
    }

    /* The row of slot `lane`, which has at most MOST nonzeros; those beyond its last one add
     * nothing. */
    template <int MOST> struct row_facts {
        double w[MOST], left[MOST]; /* c - w e, where e = z d                     */
        const double *z[MOST];      /* (R)                                        */
        double *old, *d, *inverse;  /* (R): the row, its step, 1 / H_rr           */
        double times;               /* the ridge                                  */
        bool solves;
    };

    template <int MOST> __device__ __forceinline__ row_facts<MOST> facts() const
    {
        const short_row row = room.row[lane];
        row_facts<MOST> f = {.old = room.old + lane * LD,
                             .d = room.d + lane * LD,
                             .inverse = room.inverse + lane * LD,
                             .times = 1};
        int known = 0;
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const int j = row.first + min(i, row.length - 1);
            const bool there = i < row.length;
            const double x = there ? room.x[j] : NAN;
            f.z[i] = room.z + j * LD;
            f.w[i] = there ? room.w[j] : 0;
            f.left[i] = there ? room.c[j] : 0;
            known += row_term_known(x);
        }
        f.solves = known > 0;
        if (a.counted)
            f.times = known;
        return f;
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
        double z[MOST], old, inverse, ridge;
    };

    template <int MOST>
    __device__ __forceinline__ coordinate<MOST> coordinate_at(const row_facts<MOST> &f,
                                                              uint32_t r) const
    {
        coordinate<MOST> x = {.old = f.old[r], .inverse = f.inverse[r], .ridge = ridge_of(f, r)};
#pragma unroll
        for (int i = 0; i < MOST; i++)
            x.z[i] = f.z[i][r];
        return x;
    }

    /* Coordinate r of d; whether it moves. */
    template <int MOST>
    __device__ __forceinline__ bool descend(row_facts<MOST> &f, uint32_t r,
                                            const coordinate<MOST> &x) const
    {
        const double now = f.d[r];
        double even = -x.ridge * x.old, odd = 0;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            (i % 2 ? odd : even) = fma(f.left[i], x.z[i], i % 2 ? odd : even);
        const double down = fma(-x.ridge, now, even + odd);
        const double wanted = fma(down, x.inverse, now);
        const double step = (wanted > -x.old ? wanted : -x.old) - now;
        f.d[r] = now + step;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            f.left[i] = fma(-step * f.w[i], x.z[i], f.left[i]);
        return step != 0;
    }

    /* Coordinate descent, until a pass moves no coordinate. A coordinate is read while the one
     * before it descends. */
    template <int MOST> __device__ __forceinline__ void descend_all(row_facts<MOST> &f) const
    {
        begin(f);
        coordinate<MOST> x = coordinate_at(f, 0);
        int passes = ROW_PASSES;
        for (bool moved = true; moved && passes > 0; passes--) {
            moved = false;
#pragma unroll 1
            for (uint32_t r = 0; r < a.rank; r++) {
                const uint32_t later = r + 1 < a.rank ? r + 1 : 0;
                const coordinate<MOST> next = coordinate_at(f, later);
                moved |= descend(f, r, x);
                x = next;
            }
        }
    }

    /* d of the row of slot `lane` becomes a step. */
    template <int MOST> __device__ __forceinline__ void improve()
    {
        row_facts<MOST> f = facts<MOST>();
        const short_row row = room.row[lane];
        if (f.solves)
            descend_all(f);
#pragma unroll
        for (int i = 0; i < MOST; i++)
            if (i < row.length)
                room.misfit[row.first + i] = f.left[i] * f.left[i];
        room.solves[lane] = f.solves;
        sum.penalty += a.counted && f.solves ? penalty(f) : 0;
    }

    __device__ __forceinline__ void improve_up_to(int most)
    {
        if (most <= 1)
            improve<1>();
        else if (most <= 2)
            improve<2>();
        else if (most <= 4)
            improve<4>();
        else
            improve<ROW_SHORT_DESCENT>();
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
    __device__ __forceinline__ void entries_of(int s, uint32_t r, double (&x)[WIDTH]) const
    {
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            const double entry = room.old[s * LD + r + e] + room.d[s * LD + r + e];
            const bool stays = room.solves[s] && !(entry < 0);
            x[e] = stays ? entry * this->common_at(a.common.out, r + e) : 0;
        }
    }

    __device__ __forceinline__ bool solve()
    {
        const int most = longest();
        room.x[lane] = value;
        this->make_terms();
        if (lane < rows)
            improve_up_to(most);
        __syncwarp();
        if (length > 0 && row_term_known(value)) {
            sum.misfit += room.misfit[lane];
            sum.size += room.misfit[lane];
        }
        this->write([&](int s, uint32_t r, auto &x) { entries_of(s, r, x); });
        return true;
    }
};

#endif
