/* Two halves of a tensor: each slice of one mode is in one of them. The choice depends on the index
 * of the slice and on a seed alone, so that it is the same for any order of the entries and any
 * number of ranks. */
#ifndef BLCO_HALVES_H
#define BLCO_HALVES_H

#include <stdint.h>

struct halves {
    int mode; /* counted from 1; 0: there are no halves                                       */
    uint64_t seed; /* 0: slices 1, 3, 5, ... and 2, 4, 6, ...; else one of slices 1 and 2 at random
                    * and the other one, one of 3 and 4, ...                                   */
};

/* The half, 0 or 1, that the slice with this index (from 0) is in. */
int halves_of(const struct halves *h, uint64_t index);

#endif
