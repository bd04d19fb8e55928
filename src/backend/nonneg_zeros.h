/* Zeros of a nonnegative factor matrix, which an update keeps at a floor above zero. */
#ifndef BLCO_NONNEG_ZEROS_H
#define BLCO_NONNEG_ZEROS_H

#include "kernels/shared/precision.h"
#include "model/ktensor.h"

/* bound (R): an entry x of unit column r stands at the floor (kernels/shared/nonneg.h), or so near
 * that rounding hides it, where x lambda[r] <= bound[r]. lambda (R) as the update of a mode has
 * left it; `rows` are those of the whole factor matrix. precision: of the update. */
void nonneg_bounds(const double *lambda, uint64_t rank, uint64_t rows, enum precision precision,
                   double *bound);

/* Writes 0 for these entries of mode n of k, which has unit columns and that lambda. */
void nonneg_zeros(struct ktensor *k, int n, const double *bound);

#endif
