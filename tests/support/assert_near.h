/* Numbers that are equal except for rounding. Include it after cmocka.h. */
#pragma once

#include <math.h>

static inline void assert_near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-12 * fabs(b));
}
