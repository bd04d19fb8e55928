/* The entries that a tensor does not list and where a model has its largest values: of the whole
 * tensor, or of a slice, which has the entries with given indices in some modes; of one slice, or
 * of each index of a mode. Recommendations, links that may come, counts that are missing.
 *
 * The search is exact, and does not visit all entries. A value is a sum over components, at most
 * the product of norms: of the product of some modes' rows, and of a row of each other mode. Rows
 * are searched in descending order of their norms, mode by mode, until no wanted entry can follow;
 * of the longest mode ROW_GROUP rows with TILE products of the others at a time. Each entry that is
 * large enough is computed once more as ktensor_value does, so that neither the number of threads
 * nor the order of the search changes the result. */
#pragma once

#include "base/progress.h"
#include "model/ktensor.h"
#include "report/unlisted_slice.h"

/* Where an entry is, from 0; modes beyond the order are 0. */
struct cell {
    uint32_t index[MAX_ORDER];
};

struct best_entry {
    struct cell cell;
    double value; /* of the model, as ktensor_at has it */
};

struct unlisted_best {
    uint64_t count;
    struct best_entry *entry; /* (count) the largest first, of equal ones that with the smaller
                               * indices; owned */
};

/* *best = the `wanted` entries of the slice with the largest values, or all if it has fewer. Where
 * the model is 0, an entry is left out. Some mode has no given index, and all entries of the tensor
 * are noted (the search sorts them). By all OpenMP threads, whose number does not change the
 * result. Besides the result it takes memory for a copy of the model and of the keys. The caller
 * frees *best, which is empty on failure. STATUS_INPUT where slice->most entries are computed and
 * the search has not ended, since the model is as large at many others; STATUS_MEMORY. */
enum status unlisted_best_find(struct unlisted_best *best, const struct ktensor *k,
                               struct unlisted_slice *slice, uint64_t wanted,
                               struct progress *progress, struct error *error);

/* Takes what was found for some indices of a mode: entries in the order of these indices, of each
 * index as above. Entries that it does not empty *best of are freed. */
typedef enum status unlisted_taker(void *context, struct unlisted_best *best, struct error *error);

/* The same for each index of mode n, which is not given, as some other mode is not: the `wanted`
 * entries of the slice that have this index; for n = -1 of the slice. Hands them to `take` with
 * `context`, some indices at a time. STATUS_INPUT, STATUS_MEMORY, and errors of `take`. */
enum status unlisted_best_of_each(const struct ktensor *k, struct unlisted_slice *slice, int n,
                                  uint64_t wanted, unlisted_taker *take, void *context,
                                  struct progress *progress, struct error *error);

/* Accepts an empty one. */
void unlisted_best_free(struct unlisted_best *best);
