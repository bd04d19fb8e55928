/* Which entries a run leaves out to test its model with them: held-out entries. The choice depends
 * on the coordinates in the whole tensor and on a seed alone, so that it is the same for any order
 * of the entries and any number of ranks. */
#pragma once

#include <stdbool.h>

#include "tensor/coo.h"

/* share 0: no entry is held out. */
struct holdout {
    double share;  /* of the known entries, about; from 0 to less than 1 */
    uint64_t seed; /* the entries of a share are also among those of a larger one */
};

/* Whether the known entry i of x is held out. Coordinates of x count from first[n] (order). */
bool holdout_has(const struct holdout *h, const struct coo *x, const uint64_t *first, uint64_t i);

/* chosen[i] (nnz) = whether entry i of x is known and held out. Returns how many are. By all OpenMP
 * threads. */
uint64_t holdout_choose(const struct holdout *h, const struct coo *x, const uint64_t *first,
                        bool *chosen);

/* coordinate (order) = the k-th of a sequence of random coordinates of a tensor of this shape. */
void holdout_draw(const struct holdout *h, const struct shape *shape, uint64_t k,
                  uint32_t *coordinate);
