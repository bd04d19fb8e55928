/* Sends each nonzero to the rank that is to have it. */
#ifndef BLCO_NONZERO_EXCHANGE_H
#define BLCO_NONZERO_EXCHANGE_H

#include "plan/process_grid.h"
#include "ranks/share.h"

/* *x = the nonzeros of all shares that this rank owns by the grid, in the tensor's order. Indices
 * count from the first row of the rank's part; a mode has length 1 if the part has no rows of it.
 * Pieces of the share are freed once they are sent, unless they are borrowed; the arrays of x are
 * allocated at once, and fill up meanwhile. Beside these a rank takes less than 100 MB. By all
 * OpenMP threads. All ranks of c, g->ranks of them, call this. The caller frees *x; it is empty on
 * failure, which all ranks see. STATUS_MEMORY. */
enum status nonzero_exchange(struct share *s, const struct process_grid *g, struct comm *c,
                             struct coo *x, struct error *error);

/* Who gets which nonzeros: rank(context, index) gets the one with these indices (order). */
struct nonzero_receivers {
    int (*rank)(const void *context, const uint32_t *index);
    const void *context;
    struct part part; /* what this rank gets: indices count from its first rows */
};

/* The same where `to` says who gets which nonzeros. */
enum status nonzero_exchange_to(struct share *s, const struct nonzero_receivers *to, struct comm *c,
                                struct coo *x, struct error *error);

#endif
