/* One piece of a sorted tensor: entries in any order become nonzeros of a .blco file. */
#ifndef BLCO_EXTERNAL_SORT_PIECE_H
#define BLCO_EXTERNAL_SORT_PIECE_H

#include "formats/blco/blco_writer.h"
#include "tensor/ordering.h"

/* Sorts position[0..count), which names entries of x, along the line, sums the values of those with
 * the same coordinates in the order in which they were named, and appends what is not zero to the
 * file. The values of summed entries are lost; so is position. *report is added to. */
enum status external_sort_emit(const struct ordering *alto, struct coo *x, uint64_t *position,
                               uint64_t count, struct blco_writer *w, struct coo_cleaning *report,
                               struct error *error);

#endif
