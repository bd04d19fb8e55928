/* The words that packed nonzeros are decoded to on the device: every mode's whole coordinate,
 * within one of at most two 64-bit words, whatever the ordering that they are packed in. */
#ifndef BLCO_DECODED_LAYOUT_H
#define BLCO_DECODED_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/shared/packed_group.h"
#include "tensor/ordering.h"

/* For a tensor of these lengths (order): the fields of an ordering (ordering.h) without a cut.
 * False where its coordinates do not fit into two words. */
bool decoded_layout_create(struct packed_layout *layout, const struct shape *shape);

/* For words that are themselves the lines of another ordering: one of at most 64 bits on which each
 * mode's stand side by side, as those of `mode n` do. */
void decoded_layout_of_line(struct packed_layout *layout, const struct ordering *line,
                            const struct shape *shape);

/* How the lines of the ordering `kind` (ordering.h) of such a tensor become those words. */
void decoded_layout_spread(struct packed_spread *spread, const struct packed_layout *layout,
                           int kind, const struct shape *shape);

#endif
