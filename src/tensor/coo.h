/* The coordinate tensor: what a reader produces and every other form is built from. */
#ifndef BLCO_COO_H
#define BLCO_COO_H

#include <stdint.h>

#include "base/error.h"
#include "tensor/shape.h"

struct coo {
    struct shape shape;
    uint64_t nnz;
    uint32_t *index[MAX_ORDER]; /* (nnz) for n < order, zero-based; owned  */
    double *value;              /* (nnz); owned                            */
};

/* Makes room for `nnz` nonzeros; the contents are uninitialised. On failure *x is empty. */
enum status coo_create(struct coo *x, const struct shape *shape, uint64_t nnz, struct error *error);

/* Changes the room to `nnz` nonzeros, keeping the first ones. On failure *x is as it was, or
 * larger. Giving room back never fails. */
enum status coo_resize(struct coo *x, uint64_t nnz, struct error *error);

/* Those of entry i (order). */
void coo_coordinates(const struct coo *x, uint64_t i, uint32_t *coordinate);

/* Frees the arrays and empties *x; accepts a half-built or an empty one. */
void coo_free(struct coo *x);

struct coo_cleaning {
    uint64_t zeros;      /* entries dropped because their value is zero      */
    uint64_t duplicates; /* entries that were added to an earlier one        */
};

/* Drops explicit zeros and sums entries with the same coordinates (in the order in which they
 * stand, whatever the number of threads), and drops sums that came out as zero. Afterwards
 * coordinates are distinct. A tensor that has no duplicates keeps the order of its entries; one
 * that has is sorted. Sums that are zero count among the zeros, so that entries before = zeros +
 * duplicates + entries after. On failure *x still stands for the same tensor, to be freed by the
 * caller; some duplicates may already be added up, with zeros left in their place. */
enum status coo_clean(struct coo *x, struct coo_cleaning *report, struct error *error);

/* Sum of squared values, as norm_sum.h defines it: the same bits whatever the number of threads. */
double coo_norm_sq(const struct coo *x);

#endif
