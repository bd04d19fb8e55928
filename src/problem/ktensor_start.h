/* What a run starts from. */
#ifndef BLCO_KTENSOR_START_H
#define BLCO_KTENSOR_START_H

#include <stdbool.h>

#include "model/ktensor.h"

struct ktensor_start {
    const struct ktensor *from; /* a whole model of the same rank, of as many modes or fewer; or
                                 * NULL: random                                              */
    enum ktensor_init init;     /* of what is random                                          */
    uint64_t seed;
};

/* Fills k, which has some rows of a model whose modes have the lengths `whole`. Modes of another
 * length than in s->from, or that s->from lacks, are random (ktensor_randomise), without signs
 * where nonneg (MAX_ORDER); rows that are NO_ROW are zero. */
void ktensor_begin(struct ktensor *k, const struct shape *whole, const struct ktensor_start *s,
                   const bool *nonneg);

/* The entries of mode n become their magnitudes. */
void ktensor_drop_signs(struct ktensor *k, int n);

/* a[0..count) = the magnitudes of its entries. */
void entries_drop_signs(double *a, uint64_t count);

#endif
