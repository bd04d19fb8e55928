/* The words that packed nonzeros are decoded to while they flow: every mode's whole coordinate,
 * within one of at most two 64-bit words, so that all of an ordering decodes alike. */
#ifndef BLCO_STREAM_LAYOUT_H
#define BLCO_STREAM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "packed_group.h"

/* For a tensor of these lengths (order): the fields of an ordering (ordering.h) without a cut.
 * False where its coordinates do not fit into two words. */
bool stream_layout_create(struct packed_layout *layout, int order, const uint64_t *dims);

#endif
