/* Short rows that are nonnegative, where unlisted entries are unknown: one coordinate after the
 * other, by a lane for each row. */
#ifndef BLCO_SHORT_DESCENT_CUH
#define BLCO_SHORT_DESCENT_CUH

#include "kernels/rows/short_window.cuh"
#include "numerics/row_term.h"

template <int COLUMNS_OF> struct short_descent : short_window<COLUMNS_OF> {
    using window = short_window<COLUMNS_OF>;
    using window::a, window::lane, window::length, window::rows, window::value, window::slot,
        window::sum, window::LD;
    struct room_of : short_room<COLUMNS_OF> {
        double x[WARP * LD]; /* (slot, component): the rows                            */
        double zero[LD];     /* z of a nonzero that adds nothing                       */
        double ridge[LD];    /* of each component                                      */
        double left[WARP];   /* of each nonzero: its value less the model's; 0 if unknown */
    };
    room_of &room;
    uint32_t known; /* bit i: the value of the nonzero of lane i is known */

    __device__ __forceinline__ short_descent(const row_systems_args &args, room_of &of)
        : window(args, of), room(of)
    {
        for (int r = lane; r < LD; r += WARP) {
            room.zero[r] = 0;
            room.ridge[r] = this->common_at(a.common.ridge, r);
        }
        __syncwarp();
    }

    /* Fills the room. */
    __device__ __forceinline__ void make_terms()
    {
        if (a.mttkrp.precision == PRECISION_SINGLE)
            this->template gather_old<float>(room.x);
        else
            this->template gather_old<double>(room.x);
        __syncwarp();
        const double *z = room.z + lane * LD, *x = room.x + (length > 0 ? slot : 0) * LD;
        double even = 0, odd = 0;
        uint32_t r = 0;
#pragma unroll 4
        for (; r + 2 <= a.rank; r += 2) {
            even = fma(z[r], x[r], even);
            odd = fma(z[r + 1], x[r + 1], odd);
        }
        if (r < a.rank)
            even = fma(z[r], x[r], even);
        room.left[lane] = row_term_known(value) ? value - (even + odd) : 0;
        known = __ballot_sync(ALL, row_term_known(value));
        __syncwarp();
    }

    /* The row of slot `lane`, which has at most MOST nonzeros. */
    template <int MOST> struct row_facts {
        double left[MOST];
        const double *z[MOST]; /* (R): zeros of those that are unknown, and beyond the last one */
        double *x;             /* (R)                                                           */
        double times;          /* the ridge                                                     */
    };

    template <int MOST>
    __device__ __forceinline__ row_facts<MOST> facts(const short_row &row, uint32_t there) const
    {
        row_facts<MOST> f = {.x = room.x + lane * LD,
                             .times = a.counted ? static_cast<double>(__popc(there)) : 1};
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const bool counts = there >> i & 1;
            f.z[i] = counts ? room.z + (row.first + i) * LD : room.zero;
            f.left[i] = counts ? room.left[row.first + i] : 0;
        }
        return f;
    }

    /* What a step of coordinate r needs, but for what other steps change. */
    template <int MOST> struct coordinate {
        double z[MOST], x, down, inverse; /* down: of the ridge; inverse: 1 / H_rr, or 0 */
    };

    template <int MOST>
    __device__ __forceinline__ coordinate<MOST> coordinate_at(const row_facts<MOST> &f,
                                                              uint32_t r) const
    {
        coordinate<MOST> c;
        double even = f.times * room.ridge[r], odd = 0;
        c.x = f.x[r];
        c.down = -even * c.x;
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            c.z[i] = f.z[i][r];
            (i % 2 ? odd : even) = fma(c.z[i], c.z[i], i % 2 ? odd : even);
        }
        const double h = MOST > 1 ? even + odd : even;
        c.inverse = h > 0 ? inverse(h) : 0;
        return c;
    }

    /* Coordinate r of the row. */
    template <int MOST>
    __device__ __forceinline__ void descend(row_facts<MOST> &f, uint32_t r,
                                            const coordinate<MOST> &c) const
    {
        double even = c.down, odd = 0;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            (i % 2 ? odd : even) = fma(f.left[i], c.z[i], i % 2 ? odd : even);
        const double wanted = (MOST > 1 ? even + odd : even) * c.inverse;
        const double step = wanted > -c.x ? wanted : -c.x;
        f.x[r] = c.x + step;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            f.left[i] = fma(-step, c.z[i], f.left[i]);
    }

    /* Passes of coordinate descent (HALS). A coordinate is read while the one before it descends.
     */
    template <int MOST> __device__ __forceinline__ void descend_all(row_facts<MOST> &f) const
    {
        for (int pass = 0; pass < ROW_PASSES; pass++) {
            coordinate<MOST> c = coordinate_at(f, 0);
#pragma unroll 2
            for (uint32_t r = 0; r < a.rank; r++) {
                const coordinate<MOST> next = coordinate_at(f, r + 1);
                descend(f, r, c);
                c = next;
            }
        }
    }

    /* The row of slot `lane` becomes a better one; zero where no value is known. */
    template <int MOST> __device__ __forceinline__ void improve()
    {
        const short_row row = room.row[lane];
        const uint32_t there = known >> row.first & ((1u << row.length) - 1);
        row_facts<MOST> f = facts<MOST>(row, there);
        if (there)
            descend_all(f);
        for (uint32_t r = 0; !there && r < a.rank; r++)
            f.x[r] = 0;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            if (i < row.length)
                room.left[row.first + i] = f.left[i];
        sum.penalty += a.counted ? penalty(f) : 0;
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

    template <int MOST> __device__ __forceinline__ double penalty(const row_facts<MOST> &f) const
    {
        double of_row = 0;
        for (uint32_t r = 0; r < a.rank; r++)
            of_row = fma(f.times * room.ridge[r] * f.x[r], f.x[r], of_row);
        return of_row;
    }

    /* Of the new row of slot s. */
    template <int WIDTH>
    __device__ __forceinline__ void entries_of(int s, uint32_t r, double (&x)[WIDTH]) const
    {
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
            x[e] = room.x[s * LD + r + e] * this->common_at(a.common.out, r + e);
    }

    __device__ __forceinline__ bool solve()
    {
        const int most = this->longest();
        this->gather_all();
        make_terms();
        if (lane < rows)
            improve_up_to(most);
        __syncwarp();
        if (length > 0) {
            const double misfit = room.left[lane] * room.left[lane];
            sum.misfit += misfit;
            sum.size += misfit;
        }
        this->write([&](int s, uint32_t r, auto &x) { entries_of(s, r, x); });
        return true;
    }
};

#endif
