/* The pool of a generate_skew: tuples of the indices of some modes, and how often each is chosen.
 */
#ifndef BLCO_FIBER_POOL_H
#define BLCO_FIBER_POOL_H

#include "generate/alto_keys.h"
#include "generate/generate.h"
#include "generate/index_distribution.h"

struct tuple_pool {
    struct cells place; /* (count) what the tuples' indices are on the line; ascending */
    double *sum;        /* (count + 1) running sum of their shares of all; owned       */
};

/* Bytes that a tuple takes while the pool is made. */
#define TUPLE_POOL_BYTES 40

/* How many tuples there are in memory for a tensor of `nnz` nonzeros: the skew's, or fewer where
 * these are many more than can be seen. */
uint64_t tuple_pool_count(const struct generate_skew *skew, uint64_t nnz);

/* Draws the tuples by the modes' laws (order), by all OpenMP threads. Without a pool in the skew it
 * is empty, as on failure. */
enum status tuple_pool_create(struct tuple_pool *pool, const struct generate_skew *skew,
                              const struct cell_line *line, const struct index_law *law,
                              uint64_t nnz, uint64_t seed, struct error *error);

/* Accepts an empty one. */
void tuple_pool_free(struct tuple_pool *pool);

/* The first of tuples [first, last) that stands at `place` or behind; `last` if none does. */
uint64_t tuple_pool_find(const struct tuple_pool *pool, uint64_t first, uint64_t last,
                         cell_key place);

#endif
