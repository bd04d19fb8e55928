/* From coordinates to a line, from one ordering's line to another's, from a line to the stored
 * index: each is a table of bit moves, built here and applied on the device. */
#ifndef BLCO_ORDERING_MOVES_H
#define BLCO_ORDERING_MOVES_H

#include <stdbool.h>

#include "kernels/shared/bit_move.h"
#include "tensor/ordering.h"

enum ordering_target { ORDERING_LINE, ORDERING_INDEX };

/* The moves that build word `word` of to's line or index. From the line of `from` (at most 64 bits;
 * every source is 0), or from the coordinates where `from` is NULL (the source is the mode). */
void ordering_moves_create(struct bit_moves *m, const struct ordering *from,
                           const struct ordering *to, enum ordering_target layout, int word);

/* Whether the moves leave every bit where it is and drop none of the lowest `bits`. */
bool ordering_moves_identity(const struct bit_moves *m, int bits);

/* How many of to's lowest line bits a stable sort may leave out where the nonzeros already stand in
 * line order of `from`: for an ordering `mode n` all but mode n's own, if `from` is
 * ordering_common's. */
int ordering_sorted_bits(const struct ordering *from, const struct ordering *to);

/* The ordering, as with ordering_create, that shares the most with the `mode n` orderings of all n:
 * that of the mode that comes first among the others in them. */
void ordering_common(struct ordering *o, const struct shape *shape);

/* The ordering along whose lines nonzeros stand that are sorted by their coordinates, mode by mode:
 * the first mode's bits on top, the last one's lowest, nothing cut off. */
void ordering_natural(struct ordering *o, const struct shape *shape);

/* base (order): the coordinate bits above the cut, from a line in ceil(B/64) words. */
void ordering_base(const struct ordering *o, const uint64_t *line, uint32_t *base);

#endif
