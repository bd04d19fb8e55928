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

    __device__ __forceinline__ double entry_of(int s, uint32_t r)
    {
        const short_row row = room.row[s];
        const double old = room.old[s * LD + r], b = this->sum_of(row, room.c, r);
        double linear = __ldg(a.common.linear + r);
        if (a.weighed)
            linear += this->sum_of(row, room.q, r);
        if (!room.solves[s])
            return 0;
        sum.violation = fmax(sum.violation, this->violation(old, linear - b, r));
        const double factor = linear > 0 ? b / linear : 1;
        const double entry = (old + old * (factor - 1)) * __ldg(a.common.out + r);
        return entry < a.floor ? a.floor : entry; /* a NaN stays */
    }

    __device__ __forceinline__ bool solve()
    {
        this->make_terms();
        const uint32_t above = __ballot_sync(ALL, length > 0 && value > 0);
        if (length > 0 && lane == first)
            room.solves[slot] = above & this->lanes_of_row();
        __syncwarp();
        this->write([&](int s, uint32_t r) { return entry_of(s, r); });
        return true;
    }
};

#endif
