/* Norms of columns, and Grams of columns that are divided by them. */
#pragma once

#include <cstdint>

#include "kernels/dense/early_load.cuh"

/* Of column r of A: by its entries' sum (R), else (NULL) by the Gram A'A (R x R). */
static __device__ __forceinline__ double column_norm(const double *sum, const double *gram,
                                                     uint64_t rank, uint64_t r)
{
    return sum ? early_load(&sum[r]) : sqrt(early_load(&gram[r * rank + r]));
}

/* Entry (i, j) of the Gram of unit columns, from A'A's. Divided one by one, smaller index first:
 * the product of norms cannot overflow, and the result is symmetric. */
static __device__ __forceinline__ double unit_gram(double gram, uint64_t i, uint64_t j,
                                                   double norm_i, double norm_j)
{
    const double first = i < j ? norm_i : norm_j, second = i < j ? norm_j : norm_i;
    return norm_i == 0 || norm_j == 0 ? 0.0 : gram / first / second;
}
