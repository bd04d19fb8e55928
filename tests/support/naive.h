/* The oracle: MTTKRP straight from its definition, in long double, one nonzero after the other. */
#ifndef BLCO_NAIVE_H
#define BLCO_NAIVE_H

#include "model/ktensor.h"
#include "tensor/coo.h"

/* m (I_mode x R), row-major, = X_(mode) (Khatri-Rao product of the other modes' factors). */
void naive_mttkrp(const struct coo *x, const struct ktensor *k, int mode, long double *m);

/* 1 - ||X - model|| / ||X||, from the nonzeros and the Grams, in long double. */
long double naive_fit(const struct coo *x, const struct ktensor *k);

/* A tensor of `nnz` entries with distinct coordinates (fewer where the lengths do not allow as
 * many), values in [-1, 1) without zero, coordinates skewed towards low indices where `skewed`. The
 * test fails where memory runs out; free it with coo_free. */
void naive_random_coo(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed,
                      int skewed);

/* Deterministic 64-bit mixer for tests. */
uint64_t naive_random(uint64_t *state);

#endif
