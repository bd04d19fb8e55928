/* The precision of the entries of factor matrices and of the values of nonzeros, on the host and on
 * the device, in C and CUDA C++. */
#pragma once

#include <stdint.h>

enum precision { PRECISION_DOUBLE, PRECISION_SINGLE };

/* Bytes of an entry or a value. */
static inline uint64_t precision_bytes(enum precision precision)
{
    return precision == PRECISION_SINGLE ? sizeof(float) : sizeof(double);
}
