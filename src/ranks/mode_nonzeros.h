/* The nonzeros that a rank needs to solve its rows of a mode, where rows are dealt (rank_rows.h).
 */
#ifndef BLCO_MODE_NONZEROS_H
#define BLCO_MODE_NONZEROS_H

#include "ranks/rank_rows.h"
#include "tensor/coo.h"

/* *taken = of the nonzeros x of all ranks, those in the rows of mode n that this rank solves, and
 * this rank's own ones in common rows. So the ranks together have each nonzero once. Indices are
 * those of r->part. Every rank calls it; x is only read. The caller frees *taken; it is empty on
 * failure, which all ranks see. STATUS_MEMORY. */
enum status mode_nonzeros_take(struct coo *taken, const struct rank_rows *r, int n,
                               const struct coo *x, struct error *error);

#endif
