/* Numbers that are equal except for rounding. Include it after cmocka.h. */
#ifndef BLCO_ASSERT_NEAR_H
#define BLCO_ASSERT_NEAR_H

#include <math.h>

static inline void assert_near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-12 * fabs(b));
}

#endif
