/* Entries in memory on their way to a .blco file: sorted, entries with the same coordinates summed,
 * zeros dropped. */
#ifndef BLCO_ENTRY_SUMS_H
#define BLCO_ENTRY_SUMS_H

#include "formats/blco/blco_writer.h"
#include "tensor/coo.h"

/* The numbers 0 to count - 1, for sorting; the caller frees the array. NULL and STATUS_MEMORY. */
uint64_t *entry_sums_positions(uint64_t count, struct error *error);

/* Sorts position[0..count), which names entries of x in input order, along the writer's line, sums
 * the values of entries with the same coordinates in input order, and appends the sums that are not
 * zero to the file. Summed values of x and position[] are overwritten; counts are added to *report.
 * STATUS_INPUT as from coo_overflow, STATUS_MEMORY, STATUS_OUTPUT. */
enum status entry_sums_append(struct coo *x, uint64_t *position, uint64_t count,
                              struct blco_writer *w, struct coo_cleaning *report,
                              struct error *error);

#endif
