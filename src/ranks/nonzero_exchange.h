/* Sends each nonzero to the rank that is to have it. */
#pragma once

#include "ranks/rank_rows.h"
#include "ranks/share.h"

/* *x = the nonzeros of all shares that this rank owns by the grid, in the tensor's order. Indices
 * count from the first row of the rank's part; a mode has length 1 if the part has no rows of it.
 * Pieces of the share are freed once they are sent, unless they are borrowed; the arrays of x are
 * allocated at once, and fill up meanwhile. Besides these, a rank takes less than 100 MB. By all
 * OpenMP threads. All ranks of c, g->ranks of them, call this. The caller frees *x; it is empty on
 * failure, which all ranks see. STATUS_MEMORY. */
enum status nonzero_exchange(struct share *s, const struct process_grid *g, struct comm *c,
                             struct coo *x, struct error *error);

/* *taken = the nonzeros, from x of all ranks, in the rows of mode n that this rank solves, and this
 * rank's own nonzeros in common rows: all that the rank needs to solve its rows where rows are
 * dealt (rank_rows.h). Together the ranks have each nonzero once. Indices are those of r->part.
 * Every rank calls it; x is only read. The caller frees *taken; it is empty on failure, which all
 * ranks see. STATUS_MEMORY. */
enum status nonzero_exchange_mode(struct coo *taken, const struct rank_rows *r, int n,
                                  const struct coo *x, struct error *error);
