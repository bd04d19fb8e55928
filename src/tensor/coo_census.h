/* The numbers of a tensor from which a grid of ranks is chosen: how many nonzeros each row of each
 * mode has, and some of the nonzeros, evenly spread. */
#pragma once

#include "tensor/coo.h"

struct coo_census {
    uint64_t *count[MAX_ORDER]; /* (I_n) for n < order: nonzeros of each row of mode n; owned */
    struct coo sample;          /* every k-th nonzero, or all, in the order of the pieces; owned  */
};

/* count[n] (shape->dims[n]), for each mode n where it is not NULL, grows by `every` (1 or more) for
 * each nonzero first, first + every, ... of x in its slice. By all OpenMP threads. STATUS_MEMORY.
 */
enum status coo_count_slices(const struct coo *x, const struct shape *shape, uint64_t first,
                             uint64_t every, uint64_t *const *count, struct error *error);

/* sum (slices of mode n) grows by the values above 0 in each slice: the same bits for any number of
 * OpenMP threads, all of which sum. STATUS_MEMORY. */
enum status coo_sum_slices(double *sum, const struct coo *x, int n, struct error *error);

/* The stride with which at most `most` (1 or more) of so many nonzeros are in the sample. */
uint64_t coo_census_stride(uint64_t nnz, uint64_t most);

/* Takes the census in one pass over the pieces. The sample has every `stride`-th nonzero, and every
 * `every`-th nonzero counts as `every` nonzeros (both 1 or more): counting fewer takes less time
 * and suffices where nonzeros are many. By all OpenMP threads; the result does not depend on their
 * number. Takes 8 bytes for each row of each mode. The caller frees *c with coo_census_free; it is
 * empty on failure. STATUS_MEMORY, and the failures of the pieces. */
enum status coo_pieces_census(const struct coo_pieces *pieces, uint64_t stride, uint64_t every,
                              struct coo_census *c, struct error *error);

/* Accepts an empty one. */
void coo_census_free(struct coo_census *c);
