/* Products over the modes, entry by entry: of Grams, and of what undoes column norms. The loads of
 * some modes at a time do not wait for each other. */
#pragma once

#include "kernels/dense/dense_modes.h"
#include "numerics/unrolled.cuh"

constexpr int MODES_AT_ONCE = 4;
static_assert(MAX_ORDER % MODES_AT_ONCE == 0, "pointers of all modes at once are there");

/* Whether mode m is one of `all` modes, or of all but the mode solved for. */
static __device__ __forceinline__ bool counts(const dense_modes &modes, int m, bool all)
{
    return m < modes.order && (all || m != modes.mode);
}

/* Product of the Grams' entries at i, of all modes or of all but the mode solved for. */
static __device__ __forceinline__ double hadamard(const dense_modes &modes, uint64_t i, bool all)
{
    double product = 1;
    for (int first = 0; first < modes.order; first += MODES_AT_ONCE) {
        double x[MODES_AT_ONCE];
        EACH_UNROLLED(k, MODES_AT_ONCE)
            x[k] = counts(modes, first + k, all) ? __ldg(&modes.gram[first + k][i]) : 1;
        EACH_UNROLLED(k, MODES_AT_ONCE)
            product *= x[k];
    }
    return product;
}

/* Product of the other modes' 1/norm. */
static __device__ __forceinline__ double scale(const dense_modes &modes, uint32_t r)
{
    double product = 1;
    for (int first = 0; first < modes.order; first += MODES_AT_ONCE) {
        double norm[MODES_AT_ONCE];
        EACH_UNROLLED(k, MODES_AT_ONCE)
            norm[k] = counts(modes, first + k, false) ? __ldg(&modes.norm[first + k][r]) : 0;
        EACH_UNROLLED(k, MODES_AT_ONCE)
            if (norm[k] != 0)
                product /= norm[k];
    }
    return product;
}
