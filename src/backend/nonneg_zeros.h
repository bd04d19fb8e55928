/* Zeros of a nonnegative factor matrix, which an update keeps at a floor above zero. */
#ifndef BLCO_NONNEG_ZEROS_H
#define BLCO_NONNEG_ZEROS_H

#include "numerics/precision.h"

/* An update of a mode, or what it has left. */
struct nonneg_update {
    const double *lambda;     /* (R)                                          */
    const double *diagonal;   /* (R): V(r,r), the ridge included              */
    uint64_t rows;            /* of the whole factor matrix                   */
    enum precision precision; /* of the update                                */
};

/* floor (R): the least entry of each column of A diag(lambda) in the update (numerics/nonneg.h). */
void nonneg_floors(const struct nonneg_update *u, uint64_t rank, double *floor);

#endif
