/* Sorting the places of a synthetic tensor, of which some may be listed several times. */
#ifndef BLCO_PLACE_SORT_H
#define BLCO_PLACE_SORT_H

#include "tensor/ordering.h"

#define PLACE_SORT_BYTES 32 /* for each place, while place_sort runs */

/* Sorts the coordinates of x along the line of `o`, by all OpenMP threads, and drops repeated ones.
 * x->nnz becomes the number of those that stay; the arrays keep their room. Values are not moved.
 * STATUS_MEMORY leaves the coordinates in some order. */
enum status place_sort(struct coo *x, const struct ordering *o, struct error *error);

/* The number of places of a tensor of this shape, at most 2^64 - 1. */
uint64_t place_count(const struct shape *shape);

#endif
