/* The precision of the entries of factor matrices and of the values of nonzeros, on the host and on
 * the device, in C and CUDA C++. */
#ifndef BLCO_PRECISION_H
#define BLCO_PRECISION_H

#include <stdbool.h>
#include <stdint.h>

enum precision { PRECISION_DOUBLE, PRECISION_SINGLE };

/* Bytes of an entry or a value. */
static inline uint64_t precision_bytes(enum precision precision)
{
    return precision == PRECISION_SINGLE ? sizeof(float) : sizeof(double);
}

/* "double" or "single". */
static inline const char *precision_name(enum precision precision)
{
    return precision == PRECISION_SINGLE ? "single" : "double";
}

/* The same of a run; "auto" where it begins in single precision, to go on in double. */
static inline const char *precision_of_run(enum precision precision, bool single_first)
{
    return single_first ? "auto" : precision_name(precision);
}

#endif
