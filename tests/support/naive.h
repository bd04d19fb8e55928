/* The oracle of the tests: MTTKRP and fit straight from their definitions, in long double, one
 * nonzero after the other; and the random tensors that they are asked about. */
#ifndef BLCO_NAIVE_H
#define BLCO_NAIVE_H

#include "model/ktensor.h"
#include "tensor/coo.h"

/* m (I_mode x R, row-major) = X_(mode) (Khatri-Rao product of the other modes' factors). */
void naive_mttkrp(const struct coo *x, const struct ktensor *k, int mode, long double *m);

/* 1 - ||X - model|| / ||X||, from the nonzeros and the Grams, in long double. */
long double naive_fit(const struct coo *x, const struct ktensor *k);

/* ||A - B|| / ||B|| of a (n) and b (n), or ||A|| where B is zero. */
long double naive_relative_error(const double *a, const long double *b, uint64_t n);

/* A tensor of `nnz` nonzeros, or fewer where random coordinates coincide: distinct coordinates in
 * random order, skewed towards low indices where `skewed`; values in [-1, 1) without zero. The test
 * fails where memory runs out. The caller frees *x with coo_free. */
void naive_random_coo(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed,
                      int skewed);

/* The next of a deterministic stream of random words (SplitMix64); *state starts as the seed. */
uint64_t naive_random(uint64_t *state);

#endif
