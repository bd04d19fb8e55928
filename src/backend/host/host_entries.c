#include "backend/host/host_entries.h"

#include <string.h>

#include "base/vector_clones.h"

VECTOR_CLONES void host_entries_read(double *to, const void *from, uint64_t n,
                                     enum precision precision)
{
    if (precision == PRECISION_DOUBLE) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        to[i] = (double)((const float *)from)[i];
}

VECTOR_CLONES void host_entries_write(void *to, const double *from, uint64_t n,
                                      enum precision precision)
{
    if (precision == PRECISION_DOUBLE) {
        memcpy(to, from, n * sizeof *from);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        ((float *)to)[i] = (float)from[i];
}

void host_entries_zero(void *to, uint64_t n, enum precision precision)
{
    memset(to, 0, n * precision_bytes(precision));
}

VECTOR_CLONES void host_entries_add(void *restrict to, const void *restrict from, uint64_t n,
                                    enum precision precision)
{
    if (precision == PRECISION_SINGLE)
        for (uint64_t i = 0; i < n; i++)
            ((float *)to)[i] += ((const float *)from)[i];
    else
        for (uint64_t i = 0; i < n; i++)
            ((double *)to)[i] += ((const double *)from)[i];
}

void host_entries_multiply(void *to, const void *from, uint64_t n, enum precision precision)
{
    if (precision == PRECISION_SINGLE)
        for (uint64_t i = 0; i < n; i++)
            ((float *)to)[i] *= ((const float *)from)[i];
    else
        for (uint64_t i = 0; i < n; i++)
            ((double *)to)[i] *= ((const double *)from)[i];
}
