/* Cuts the rows of a mode into ranges of consecutive rows with about as many nonzeros each. */
#pragma once

#include <stdint.h>

#include "base/error.h"

#define ROW_SUMS_STEP 64

/* The nonzeros of the rows of a mode, with sums by which many rows are passed at a time. */
struct row_sums {
    const uint64_t *count; /* (length) nonzeros of each row; borrowed                             */
    uint64_t length;       /* rows of the mode                                                    */
    uint64_t *before;      /* (length / ROW_SUMS_STEP + 1) nonzeros of the rows before row i *
                            * ROW_SUMS_STEP; owned                                                */
    uint64_t all;          /* nonzeros of all rows                                                */
};

/* Sums count[0..length), which must outlive *s, in one pass. The caller frees *s with
 * row_sums_free. STATUS_MEMORY leaves *s empty. */
enum status row_sums_create(struct row_sums *s, const uint64_t *count, uint64_t length,
                            struct error *error);

/* Accepts an empty *s. */
void row_sums_free(struct row_sums *s);

/* Cuts the rows into `parts` ranges so that the range with most nonzeros has as few as possible;
 * range c has the rows cut[c] to cut[c + 1] - 1, which may be none; cut (parts + 1). Returns the
 * nonzeros of the range with most. */
uint64_t row_sums_cut(const struct row_sums *s, int parts, uint64_t *cut);

/* The rows of the longest range. */
uint64_t row_cuts_longest(const uint64_t *cut, int parts);

/* The range that has the row; if empty ranges begin at the row, too, the last one that begins
 * there. */
int row_cuts_range(const uint64_t *cut, int parts, uint64_t row);
