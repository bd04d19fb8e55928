/* How engines add the ranks' numbers: always in the order of the ranks, so that a sum has the same
 * bits on every rank and on every engine. */
#pragma once

#include <stdint.h>
#include <string.h>

/* to[0..count) = the sum of array[k][first .. first + count) over the ranks k in [0, size), added
 * in the order of the ranks. `to` may be array[k] + first of one rank, and must be
 * where there is one rank. */
static inline void comm_add_up(double *to, void *const *array, int size, uint64_t first,
                               uint64_t count)
{
    enum { PART = 4096 }; /* doubles that are summed at a time */
    double total[PART];
    for (uint64_t done = 0; size > 1 && done < count; done += PART) {
        uint64_t length = count - done < PART ? count - done : PART;
        memcpy(total, (const double *)array[0] + first + done, length * sizeof *total);
        for (int k = 1; k < size; k++) {
            const double *from = (const double *)array[k] + first + done;
            for (uint64_t i = 0; i < length; i++)
                total[i] += from[i];
        }
        memcpy(to + done, total, length * sizeof *total);
    }
}
