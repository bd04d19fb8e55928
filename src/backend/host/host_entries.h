/* Entries of factor matrices, M and arrays made from them on the host: doubles or floats. Arrays do
 * not overlap. */
#pragma once

#include <stdint.h>

#include "numerics/max_order.h"
#include "numerics/precision.h"

/* The rows that an MTTKRP multiplies; borrowed. */
struct host_rows {
    uint64_t rank;                 /* R                                                     */
    enum precision precision;      /* of these entries, and of M's                          */
    const void *of[MAX_ORDER + 1]; /* (I_n x R) of each mode n                              */
};

/* Where entry i of an array is. */
static inline void *host_entry(void *array, uint64_t i, enum precision precision)
{
    return (char *)array + i * precision_bytes(precision);
}
static inline const void *host_entry_of(const void *array, uint64_t i, enum precision precision)
{
    return (const char *)array + i * precision_bytes(precision);
}

/* to (n doubles) = from (n entries). */
void host_entries_read(double *to, const void *from, uint64_t n, enum precision precision);

/* to (n entries) = from (n doubles), rounded. */
void host_entries_write(void *to, const double *from, uint64_t n, enum precision precision);

/* to (n entries) = 0. */
void host_entries_zero(void *to, uint64_t n, enum precision precision);

/* to (n entries) += from (n entries); *= from. */
void host_entries_add(void *to, const void *from, uint64_t n, enum precision precision);
void host_entries_multiply(void *to, const void *from, uint64_t n, enum precision precision);
