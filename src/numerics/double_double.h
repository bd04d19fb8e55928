/* Numbers of twice as many digits as a double has, for sums whose terms cancel: the same code on
 * the host and on the device. A number is the sum of two doubles, of which `low` is what rounding
 * took from `high` (T. J. Dekker: A floating-point technique for extending the available precision,
 * Numerische Mathematik 18, 1971). Relative errors are a few times 2^-104. */
#pragma once

#include <math.h>

#include "numerics/common_function.h"

struct double_double {
    double high, low;
};

/* a + b, exactly. */
COMMON_FUNCTION struct double_double two_sum(double a, double b)
{
    double sum = a + b, of_b = sum - a;
    struct double_double s = {sum, (a - (sum - of_b)) + (b - of_b)};
    return s;
}

/* a b, exactly. */
COMMON_FUNCTION struct double_double two_product(double a, double b)
{
    double product = rounded_product(a, b);
    struct double_double p = {product, fma(a, b, -product)};
    return p;
}

/* high + low, where |low| is not above |high|. */
COMMON_FUNCTION struct double_double quick_sum(double high, double low)
{
    double sum = high + low;
    struct double_double s = {sum, low - (sum - high)};
    return s;
}

COMMON_FUNCTION struct double_double dd_add(struct double_double a, struct double_double b)
{
    struct double_double high = two_sum(a.high, b.high), low = two_sum(a.low, b.low);
    high = quick_sum(high.high, high.low + low.high);
    return quick_sum(high.high, high.low + low.low);
}

COMMON_FUNCTION struct double_double dd_times(struct double_double a, double b)
{
    struct double_double p = two_product(a.high, b);
    return quick_sum(p.high, p.low + a.low * b);
}

COMMON_FUNCTION struct double_double dd_product(struct double_double a, struct double_double b)
{
    struct double_double p = two_product(a.high, b.high);
    return quick_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/* What a listed entry of value x adds to ||X - Y||^2 - h ||Y||^2, where the model Y has the value m
 * and unlisted entries have the weight h (row_term.h): (x - m)^2 - h m^2, which is x (x - 2 m)
 * where h is 1, or - h m^2 where x is unknown (NaN). */
COMMON_FUNCTION struct double_double dd_weighed_misfit(double x, struct double_double m, double h)
{
    struct double_double minus = {-x, 0}, twice = {-2 * m.high, -2 * m.low}, value = {x, 0};
    if (h == 1 && x == x)
        return dd_times(dd_add(value, twice), x);
    struct double_double as_unlisted = dd_times(dd_product(m, m), -h), off = dd_add(m, minus);
    return x == x ? dd_add(dd_product(off, off), as_unlisted) : as_unlisted;
}
