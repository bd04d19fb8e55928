/* Values that nobody knows. */
#ifndef BLCO_COO_VALUE_H
#define BLCO_COO_VALUE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The value of an entry that is listed although nobody knows its value. Every NaN means that; files
 * have the bits of this one. */
#define COO_UNKNOWN ((double)NAN)

/* The value, or 0 where it is unknown. Decided by its bits: compilers do not vectorise loops that
 * compare with NaN. */
static inline double coo_known(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= bits << 1 > UINT64_C(0xffe0000000000000) ? 0 : UINT64_MAX;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
