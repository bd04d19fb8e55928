/* Products over the modes, entry by entry: of Grams, and of what undoes column norms. */
#ifndef BLCO_DENSE_MODES_CUH
#define BLCO_DENSE_MODES_CUH

#include "kernels/dense/dense_modes.h"

/* Product of the Grams' entries at i, of all modes or of all but the mode solved for. */
static __device__ __forceinline__ double hadamard(const dense_modes &modes, uint64_t i, bool all)
{
    double product = 1;
    for (int m = 0; m < modes.order; m++)
        if (all || m != modes.mode)
            product *= modes.gram[m][i];
    return product;
}

/* Product of the other modes' 1/norm. */
static __device__ __forceinline__ double scale(const dense_modes &modes, uint32_t r)
{
    double product = 1;
#pragma unroll 4
    for (int m = 0; m < modes.order; m++) {
        const double norm = m == modes.mode ? 0 : __ldg(&modes.norm[m][r]);
        product /= norm != 0 ? norm : 1;
    }
    return product;
}

#endif
