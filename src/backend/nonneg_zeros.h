/* Zeros of a nonnegative factor matrix, which an update keeps at a floor above zero. */
#ifndef BLCO_NONNEG_ZEROS_H
#define BLCO_NONNEG_ZEROS_H

#include "numerics/precision.h"

/* What an update of a mode has left. */
struct nonneg_update {
    const double *lambda;     /* (R)                                          */
    const double *diagonal;   /* (R): V(r,r), the ridge included              */
    uint64_t rows;            /* of the whole factor matrix                   */
    enum precision precision; /* of the update                                */
};

/* bound (R): an entry x of unit column r stands at the floor (numerics/nonneg.h), or so near
 * that rounding hides it, where x lambda[r] <= bound[r]. */
void nonneg_bounds(const struct nonneg_update *u, uint64_t rank, double *bound);

#endif
