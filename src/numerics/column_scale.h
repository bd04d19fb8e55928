/* Powers of two that bring a column near one: its largest entry, so that no sum of squares
 * overflows or underflows, or its norm. Multiplying by them rounds nothing. The same on the host
 * and on the device. */
#pragma once

#include <math.h>

#include "numerics/common_function.h"

/* 2^-e for 2^e <= |x| < 2^(e+1); finite for any finite x. */
COMMON_FUNCTION double column_scale(double x)
{
    int exponent = x == 0 ? 0 : ilogb(x);
    return ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
}

/* For an entry v >= 0 of the diagonal of a Gram: the power of two d with d v d from 1/2 to 2; 1 for
 * a unit column, 0 for a zero one. */
COMMON_FUNCTION double column_unit_scale(double v)
{
    int doubled;
    if (!(v > 0))
        return 0;
    frexp(v, &doubled);
    return ldexp(1.0, -(doubled >= 0 ? doubled / 2 : -((1 - doubled) / 2)));
}
