/* Merges the spills of an external sort. */
#ifndef BLCO_SPILL_MERGE_H
#define BLCO_SPILL_MERGE_H

#include "formats/external_sort.h"

/* Appends the entries of all spills, of a tensor of this shape, to the file in alto order and
 * cleaned, in about `memory` bytes; *report is added to. STATUS_INPUT as of coo_overflow,
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status spill_merge(struct external_sort *s, const struct shape *shape, uint64_t memory,
                        struct blco_writer *w, struct coo_cleaning *report,
                        struct progress *progress, struct error *error);

#endif
