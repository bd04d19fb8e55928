/* What the nonzeros of short rows add to their systems, which depends on the old rows. */
#ifndef BLCO_SHORT_TERMS_CUH
#define BLCO_SHORT_TERMS_CUH

#include "kernels/rows/short_window.cuh"
#include "numerics/row_term.h"

template <int COLUMNS, int SLOTS> struct short_terms_room : short_room<COLUMNS> {
    double old[SLOTS * short_room<COLUMNS>::LD]; /* (slot, component) */
    double c[WARP], w[WARP];                     /* of each nonzero: row_term.h */
};

template <int COLUMNS, int SLOTS> struct short_terms : short_window<COLUMNS> {
    using window = short_window<COLUMNS>;
    using window::a, window::lane, window::length, window::value, window::slot, window::LD;
    short_terms_room<COLUMNS, SLOTS> &terms;

    __device__ __forceinline__ short_terms(const row_systems_args &args,
                                           short_terms_room<COLUMNS, SLOTS> &of)
        : window(args, of, SLOTS), terms(of)
    {
    }

    /* Fills the room. */
    __device__ __forceinline__ void make_terms() const
    {
        if (a.mttkrp.precision == PRECISION_SINGLE)
            this->template gather_old<float>(terms.old);
        else
            this->template gather_old<double>(terms.old);
        __syncwarp();
        const double *z = terms.z + lane * LD, *old = terms.old + (length > 0 ? slot : 0) * LD;
        double even = 0, odd = 0;
        uint32_t r = 0;
#pragma unroll 4
        for (; r + 2 <= a.rank; r += 2) {
            even = fma(z[r], old[r], even);
            odd = fma(z[r + 1], old[r + 1], odd);
        }
        if (r < a.rank)
            even = fma(z[r], old[r], even);
        const double m = even + odd;
        const struct row_term term = row_term(value, m, a.unlisted);
        terms.c[lane] = term.c;
        terms.w[lane] = term.w;
        __syncwarp();
    }
};

#endif
