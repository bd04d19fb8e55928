/* Powers of ten to 128 bits, for correctly rounded conversions between decimal and binary. */
#ifndef BLCO_POWERS_OF_TEN_H
#define BLCO_POWERS_OF_TEN_H

#include <stdint.h>

#define POWER_MIN (-342)
#define POWER_MAX 324

/* 10^k scaled by a power of two to [2^127, 2^128) and rounded up: hi * 2^64 + lo. Exact for k from
 * 0 to POWER_LAST_EXACT, too large by less than one elsewhere. */
struct power_of_ten {
    uint64_t hi, lo;
};

#define POWER_LAST_EXACT 55

/* The power for k in [POWER_MIN, POWER_MAX]. The first call computes the table; any thread may
 * call. */
struct power_of_ten power_of_ten(int k);

/* floor(log2(10^k)) for k in [POWER_MIN, POWER_MAX]. */
static inline int power_of_ten_log2(int k)
{
    return (k * 1741647) >> 19;
}

#endif
