/* Zeros of a nonnegative factor matrix, which an update keeps at a floor above zero. */
#ifndef BLCO_NONNEG_ZEROS_H
#define BLCO_NONNEG_ZEROS_H

#include "kernels/shared/precision.h"
#include "model/ktensor.h"

/* Writes 0 for the entries of mode n that stand at the floor (kernels/shared/nonneg.h), or so near
 * that rounding hides them. k has unit columns and lambda as the update of a mode has left them;
 * `rows` are those of the whole factor matrix. precision: of the update. */
void nonneg_zeros(struct ktensor *k, int n, uint64_t rows, enum precision precision);

#endif
