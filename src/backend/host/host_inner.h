/* The inner product of two vectors of doubles. In a function with VECTOR_CLONES it has the longest
 * vectors of the processor. */
#pragma once

#include <stdint.h>

static inline double host_inner(const double *x, const double *y, uint64_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}
