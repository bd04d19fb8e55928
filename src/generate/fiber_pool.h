/* The fiber pool of a generate_skew: fixed indices in some modes, and how often each is drawn. */
#ifndef BLCO_FIBER_POOL_H
#define BLCO_FIBER_POOL_H

#include "generate/alto_keys.h"
#include "generate/generate.h"
#include "generate/index_distribution.h"

struct fiber_pool {
    struct coordinate_keys position; /* (count) bits that a fiber's indices set; ascending */
    double *sum; /* (count + 1) running sum of the fibers' shares of all draws; owned */
};

/* Bytes that a fiber takes while the pool is made. */
#define FIBER_POOL_BYTES 40

/* The number of fibers in memory for a tensor of `nnz` nonzeros: the skew's, or fewer where the
 * skew's are many more than the nonzeros can show. */
uint64_t fiber_pool_count(const struct generate_skew *skew, uint64_t nnz);

/* Draws the fibers from the modes' distributions (order) with all OpenMP threads. The caller frees
 * *pool, which is empty on failure and where the skew has no pool. STATUS_MEMORY. */
enum status fiber_pool_create(struct fiber_pool *pool, const struct generate_skew *skew,
                              const struct alto_keys *line,
                              const struct index_distribution *distribution, uint64_t nnz,
                              uint64_t seed, struct error *error);

/* Accepts an empty pool. */
void fiber_pool_free(struct fiber_pool *pool);

/* The first of fibers [first, last) at `position` or behind; `last` if there is none. */
uint64_t fiber_pool_find(const struct fiber_pool *pool, uint64_t first, uint64_t last,
                         coordinate_key position);

#endif
