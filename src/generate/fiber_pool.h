/* The fiber pool of a generate_skew: fixed indices in some modes, and how often each is drawn. */
#ifndef BLCO_FIBER_POOL_H
#define BLCO_FIBER_POOL_H

#include "generate/alto_keys.h"
#include "generate/generate.h"
#include "generate/index_distribution.h"

struct fiber_pool {
    struct coordinate_keys position; /* (count) bits that a fiber's indices set; ascending */
    double *sum; /* (count + 1) running sum of the fibers' probabilities; owned */
};

/* Bytes that a fiber takes while the pool is made. */
#define FIBER_POOL_BYTES 40

/* The number of fibers in memory: that of the skew, or fewer where the skew has many more than the
 * nonzeros can show. */
uint64_t fiber_pool_count(const struct generate_spec *spec);

/* Draws the fibers from the modes' distributions (order) with all OpenMP threads. The caller frees
 * *pool, which is empty on failure and where the skew has no pool. STATUS_MEMORY. */
enum status fiber_pool_create(struct fiber_pool *pool, const struct generate_spec *spec,
                              const struct alto_keys *line,
                              const struct index_distribution *distribution, uint64_t seed,
                              struct error *error);

/* Accepts an empty pool. */
void fiber_pool_free(struct fiber_pool *pool);

/* The first of fibers [first, last) at `position` or after it; `last` if there is none. */
uint64_t fiber_pool_find(const struct fiber_pool *pool, uint64_t first, uint64_t last,
                         coordinate_key position);

#endif
