/* The pool of a generate_skew: tuples of the indices of some modes, and how often each is chosen.
 */
#ifndef BLCO_FIBER_POOL_H
#define BLCO_FIBER_POOL_H

#include "generate/alto_keys.h"
#include "generate/generate.h"
#include "generate/index_distribution.h"

struct fiber_pool {
    struct coordinate_keys place; /* (count) what the tuples' indices are on the line; ascending */
    double *sum;                  /* (count + 1) running sum of their shares of all; owned       */
};

/* Bytes that a tuple takes while the pool is made. */
#define FIBER_POOL_BYTES 40

/* How many tuples there are in memory for a tensor of `nnz` nonzeros: the skew's, or fewer where
 * these are many more than can be seen. */
uint64_t fiber_pool_count(const struct generate_skew *skew, uint64_t nnz);

/* Draws the tuples by the modes' laws (order), by all OpenMP threads. Without a pool in the skew it
 * is empty, as on failure. */
enum status fiber_pool_create(struct fiber_pool *pool, const struct generate_skew *skew,
                              const struct alto_keys *line, const struct index_distribution *law,
                              uint64_t nnz, uint64_t seed, struct error *error);

/* Accepts an empty one. */
void fiber_pool_free(struct fiber_pool *pool);

/* The first of tuples [first, last) that stands at `place` or behind; `last` if none does. */
uint64_t fiber_pool_find(const struct fiber_pool *pool, uint64_t first, uint64_t last,
                         coordinate_key place);

#endif
