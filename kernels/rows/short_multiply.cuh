/* Short rows of counts that take a multiplicative step. */
#ifndef BLCO_SHORT_MULTIPLY_CUH
#define BLCO_SHORT_MULTIPLY_CUH

#include "kernels/rows/short_terms.cuh"

template <int COLUMNS> struct short_multiply : short_terms<COLUMNS, WARP> {
    using terms_of = short_terms<COLUMNS, WARP>;
    using terms_of::a, terms_of::lane, terms_of::length, terms_of::first, terms_of::slot,
        terms_of::value, terms_of::sum, terms_of::LD, terms_of::terms;
    struct room_of : short_terms_room<COLUMNS, WARP> {
        bool solves[WARP]; /* (slot): a count is above 0 */
    };
    room_of &room;

    __device__ __forceinline__ short_multiply(const row_systems_args &args, room_of &of)
        : terms_of(args, of), room(of)
    {
    }

    template <int WIDTH>
    __device__ __forceinline__ void entries_of(int s, uint32_t r, double (&x)[WIDTH])
    {
        const short_row row = room.row[s];
        double b[WIDTH], linear[WIDTH];
        this->gradients_of(row, r, b, linear);
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            const double old = room.old[s * LD + r + e];
            const double factor = linear[e] > 0 ? b[e] / linear[e] : 1;
            const double entry = (old + old * (factor - 1)) * this->common_at(a.common.out, r + e);
            x[e] = !room.solves[s] ? 0 : entry < a.floor ? a.floor : entry; /* a NaN stays */
            if (room.solves[s] && r + e < a.rank)
                sum.violation = fmax(sum.violation, this->violation(old, linear[e] - b[e], r + e));
        }
    }

    __device__ __forceinline__ bool solve()
    {
        this->make_terms();
        const uint32_t above = __ballot_sync(ALL, length > 0 && value > 0);
        if (length > 0 && lane == first)
            room.solves[slot] = above & this->lanes_of_row();
        __syncwarp();
        this->write([&](int s, uint32_t r, auto &x) { entries_of(s, r, x); });
        return true;
    }
};

#endif
