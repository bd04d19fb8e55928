/* Held-out links and their competitors: where a model ranks a held-out entry among all indices of a
 * mode, with its other indices given. Entries that are known to be there are left out, held-out
 * ones too, as the field of knowledge graphs does (the filtered setting of A. Bordes et al.,
 * NeurIPS 2013). An entry counts half where the model has the same value. */
#pragma once

#include "comm/comm.h"
#include "model/ktensor.h"
#include "tensor/holdout.h"

#define PLACES_FIRST 10 /* hits are entries in one of so many places */

/* The same on all ranks. All zero: none. */
struct holdout_places {
    struct shape shape;         /* of the whole tensor                                          */
    uint64_t count;             /* held-out entries that are not 0, or some of them             */
    uint32_t *at;               /* (count x N) their coordinates, in ascending order; owned     */
    uint32_t *fiber[MAX_ORDER]; /* (count) the number of one of these with the same other
                                 * indices, the same for all such; owned                      */
    uint64_t *known[MAX_ORDER]; /* (knowns) 2^32 fiber + index of each entry in one of these
                                 * fibers that is known and not 0, ascending; owned           */
    uint64_t knowns[MAX_ORDER];
};

/* What a model makes of them, of each mode. */
struct place_scores {
    uint64_t entries;             /* 0: none, and all else is 0                 */
    double reciprocal[MAX_ORDER]; /* the mean reciprocal of their places, from 1 */
    double hits[MAX_ORDER];       /* the share in the first PLACES_FIRST places  */
};

/* Finds the entries that h holds out of x, this rank's entries before any is held out, `chosen`
 * (nnz, holdout_choose), and their competitors; only some of the entries where the model would have
 * more values than a few seconds allow. Every rank calls it; each entry is one rank's. The caller
 * frees *p. STATUS_MEMORY; failures of other ranks. */
enum status holdout_places_find(struct holdout_places *p, const struct coo *x,
                                const struct part *part, const struct holdout *h,
                                const bool *chosen, struct comm *c, struct error *error);

/* *s = those of the whole model. By all OpenMP threads. STATUS_MEMORY. */
enum status holdout_places_score(struct place_scores *s, const struct holdout_places *p,
                                 const struct ktensor *k, struct error *error);

/* Accepts an empty one. */
void holdout_places_free(struct holdout_places *p);
