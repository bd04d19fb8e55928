/* The entries of a slice that a tensor does not list and where a model has its largest values:
 * recommendations, links that may come. */
#ifndef BLCO_UNLISTED_BEST_H
#define BLCO_UNLISTED_BEST_H

#include "base/progress.h"
#include "model/ktensor.h"
#include "report/unlisted_slice.h"

struct best_entry {
    struct cell cell;
    double value; /* of the model */
};

struct unlisted_best {
    uint64_t count;
    struct best_entry *entry; /* (count) the largest first, of equal ones that with the smaller
                               * indices; owned */
};

/* *best = the `wanted` entries of the slice with the largest values, or all if it has fewer.
 * Where the model is 0, an entry is left out. The slice is sorted, and some mode has no given
 * index.
 *
 * The search is exact. It goes through the combinations of indices of all such modes but the
 * longest, those first that may have the largest values, and leaves out combinations that cannot
 * have a value large enough: bounds come from the extremes of columns, in the longest mode from the
 * norms of rows. At worst it computes the model at every entry of the slice. By all OpenMP threads,
 * whose number does not change the result. Beside the result it takes memory for a copy of the
 * longest mode's factor matrix. The caller frees *best, which is empty on failure. STATUS_MEMORY.
 */
enum status unlisted_best_find(struct unlisted_best *best, const struct ktensor *k,
                               const struct unlisted_slice *slice, uint64_t wanted,
                               struct progress *progress, struct error *error);

/* Accepts an empty one. */
void unlisted_best_free(struct unlisted_best *best);

#endif
