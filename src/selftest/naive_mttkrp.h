/* The oracle of self-test and tests: MTTKRP and fit straight from their definitions, in long
 * double, one nonzero after the other. */
#ifndef BLCO_NAIVE_MTTKRP_H
#define BLCO_NAIVE_MTTKRP_H

#include "model/ktensor.h"
#include "tensor/coo.h"

/* m (I_mode x R, row-major) = X_(mode) (Khatri-Rao product of the other modes' factors). */
void naive_mttkrp(const struct coo *x, const struct ktensor *k, int mode, long double *m);

/* 1 - ||X - model|| / ||X||, from the nonzeros and the Grams, in long double. */
long double naive_fit(const struct coo *x, const struct ktensor *k);

/* ||A - B|| / ||B|| of a (n) and b (n), or ||A|| where B is zero. */
long double naive_relative_error(const double *a, const long double *b, uint64_t n);

#endif
