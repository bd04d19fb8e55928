/* The power of two that brings the largest entry of a column near one, so that no sum of squares
 * overflows or underflows. The same on the host and on the device. */
#ifndef BLCO_COLUMN_SCALE_H
#define BLCO_COLUMN_SCALE_H

#include <math.h>

#ifdef __CUDACC__
#define COLUMN_FUNCTION static __host__ __device__ __forceinline__
#else
#define COLUMN_FUNCTION static inline
#endif

/* 2^-e for 2^e <= |x| < 2^(e+1); finite for any finite x. */
COLUMN_FUNCTION double column_scale(double x)
{
    int exponent = x == 0 ? 0 : ilogb(x);
    return ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
}

#endif
