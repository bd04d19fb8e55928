/* The oracle of the tests (selftest/known_tensors.h), and random tensors for it. */
#pragma once

#include "selftest/known_tensors.h"

/* known_scattered (selftest/known_tensors.h); the test fails if memory runs out. */
void naive_random_coo(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed,
                      int skewed);

/* The next of a deterministic stream of random words (SplitMix64); *state starts as the seed. */
uint64_t naive_random(uint64_t *state);

/* v (R x R) = the Hadamard product of the Grams of all modes but `mode`, plus the ridge on its
 * diagonal. */
void naive_v(const struct ktensor *k, int mode, double ridge, long double *v);
