/* Sorts positions of nonzeros along the line of an ordering, of any number of words. */
#ifndef BLCO_ORDERING_SORT_H
#define BLCO_ORDERING_SORT_H

#include "tensor/coo.h"
#include "tensor/ordering.h"

/* Sorts position[0..count), which names nonzeros of x, by the lines of these nonzeros; stable;
 * key[0..count) receives the uppermost words of the lines, in the same order. Takes count * 16
 * bytes while it runs. By all OpenMP threads. STATUS_MEMORY leaves position a permutation of what
 * it was. */
enum status ordering_sort(const struct ordering *o, const struct coo *x, uint64_t *position,
                          uint64_t count, uint64_t *key, struct error *error);

#endif
