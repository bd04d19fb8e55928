/* Values of entries that may be unknown, which are NaN. */
#pragma once

#include <stdint.h>
#include <string.h>

/* The value, or 0 where it is NaN. Decided by its bits: compilers do not vectorise loops that
 * compare with NaN. */
static inline double known_value(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= bits << 1 > UINT64_C(0xffe0000000000000) ? 0 : UINT64_MAX;
    memcpy(&value, &bits, sizeof value);
    return value;
}
