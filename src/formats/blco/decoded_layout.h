/* The layout of nonzeros decoded on the GPU: every mode's whole coordinate within one of at most
 * two 64-bit words, whatever the ordering in which the nonzeros are packed. */
#pragma once

#include <stdbool.h>

#include "numerics/packed_group.h"
#include "tensor/ordering.h"

/* The layout for a tensor of this shape: the fields of an ordering (ordering.h) without a block
 * key. False if the coordinates do not fit into two words. */
bool decoded_layout_create(struct packed_layout *layout, const struct shape *shape);

/* The layout of words that are the lines of an ordering of at most 64 bits on which the bits of
 * each mode are side by side, as in `mode n`. */
void decoded_layout_of_line(struct packed_layout *layout, const struct ordering *line,
                            const struct shape *shape);

/* The table by which a line of the ordering `kind` (ordering.h) becomes the words of the layout. */
void decoded_layout_spread(struct packed_spread *spread, const struct packed_layout *layout,
                           int kind, const struct shape *shape);
