/* Entries in memory on their way to a .blco file: sorted, entries with the same coordinates summed,
 * zeros dropped or kept. */
#ifndef BLCO_ENTRY_SUMS_H
#define BLCO_ENTRY_SUMS_H

#include <stdbool.h>

#include "formats/blco/blco_writer.h"
#include "tensor/coo.h"

/* The numbers 0 to count - 1, for sorting; the caller frees the array. NULL and STATUS_MEMORY. */
uint64_t *entry_sums_positions(uint64_t count, struct error *error);

/* Where cleaned entries go. */
struct entry_sums {
    struct blco_writer *writer;
    enum coo_zeros zeros;
    struct coo_cleaning cleaning; /* so far */
};

/* The sum of entries with the same coordinates, which are added in input order. */
struct entry_sum {
    double value;   /* of the terms; 0 where there are none         */
    uint64_t terms; /* zeros that are to be dropped are no terms    */
    uint64_t zeros; /* these zeros                                  */
};
void entry_sum_add(struct entry_sum *sum, double value, enum coo_zeros zeros);

/* Counts the entries of the sum that will not be in the file. Returns whether the sum will. */
bool entry_sum_count(const struct entry_sum *sum, enum coo_zeros zeros,
                     struct coo_cleaning *cleaning);

/* Sorts position[0..count), which names entries of x in input order, along the writer's line, sums
 * the values of entries with the same coordinates in input order, and appends the sums to the file;
 * those that are zero only where zeros are kept. Summed values of x and position[] are overwritten.
 * STATUS_INPUT as from coo_overflow, STATUS_MEMORY, STATUS_OUTPUT. */
enum status entry_sums_append(struct entry_sums *s, struct coo *x, uint64_t *position,
                              uint64_t count, struct error *error);

#endif
