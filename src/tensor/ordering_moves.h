/* Tables of bit moves that turn coordinates into lines, lines of one ordering into lines of
 * another, and lines into indices; numerics/bit_move.h applies them, on host and device. */
#ifndef BLCO_ORDERING_MOVES_H
#define BLCO_ORDERING_MOVES_H

#include <stdbool.h>

#include "numerics/bit_move.h"
#include "tensor/ordering.h"

enum ordering_target { ORDERING_LINE, ORDERING_INDEX };

/* The moves that build word `word` of the line or the index (`layout`) of `to`: from the line of
 * `from` (at most 64 bits; every move reads word 0), or, where `from` is NULL, from the coordinates
 * (a move reads the word of its mode's number). */
void ordering_moves_create(struct bit_moves *m, const struct ordering *from,
                           const struct ordering *to, enum ordering_target layout, int word);

/* Whether the moves leave every bit where it is and drop none of the lowest `bits`. */
bool ordering_moves_identity(const struct bit_moves *m, int bits);

/* How many of the lowest line bits of `to` a stable sort may ignore where the nonzeros are sorted
 * along the line of `from`. Where `from` is ordering_common and `to` is `mode n`: all but mode n's
 * bits. */
int ordering_sorted_bits(const struct ordering *from, const struct ordering *to);

/* The ordering from which all orderings `mode n` take the least sorting: that of the shortest mode
 * s, as ordering_create makes it with a 64-bit index. In the ordering of any other mode n, mode s
 * comes next to mode n. */
void ordering_common(struct ordering *o, const struct shape *shape);

/* The ordering of nonzeros that are sorted by coordinates, mode by mode: the bits of the first mode
 * on top, those of the last mode lowest; no block key. It has no fields: use it for lines only. */
void ordering_natural(struct ordering *o, const struct shape *shape);

/* Writes the base (order), the coordinate bits above the cut, of a line of ceil(B/64) words. */
void ordering_base(const struct ordering *o, const uint64_t *line, uint32_t *base);

#endif
