/* Two halves of a tensor: each slice of one mode is in one of them. The choice depends on the index
 * of the slice and on a seed alone, so that it is the same for any order of the entries and any
 * number of ranks. */
#ifndef BLCO_HALVES_H
#define BLCO_HALVES_H

#include <stdint.h>

#include "numerics/random_counter.h"

/* Tells these random numbers from others of the same seed. */
#define HALVES_RANDOM UINT64_C(0x4a1f)

struct halves {
    int mode; /* counted from 1; 0: there are no halves                                       */
    uint64_t seed; /* 0: slices 1, 3, 5, ... and 2, 4, 6, ...; else the seed decides for slices 1
                    * and 2, for 3 and 4, ... which one is in which half */
};

/* The half, 0 or 1, that the slice with this index (from 0) is in. Neighbours, which are often
 * alike, are in different halves, and the halves are equally large. */
static inline int halves_of(const struct halves *h, uint64_t index)
{
    uint64_t word[2] = {0, 0};
    if (h->seed > 0)
        random_words(h->seed, HALVES_RANDOM << 48, index / 2, word);
    return (int)((index ^ word[0]) & 1);
}

#endif
