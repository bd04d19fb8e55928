/* The ranks that -r names: one, or several to be compared. */
#ifndef BLCO_RANK_RANGE_H
#define BLCO_RANK_RANGE_H

#include <stdint.h>

#include "base/error.h"

#define RANK_RANGE_MOST 1000 /* ranks */

struct rank_range {
    uint64_t first, last, step; /* last is one of the ranks                                  */
};

/* Reads "8", "1:4" (1, 2, 3 and 4) or "4:32:4" (4, 8, ..., 32): whole or not at all. STATUS_INPUT.
 */
enum status rank_range_parse(struct rank_range *range, const char *text, struct error *error);

/* How many ranks there are. */
int rank_range_count(const struct rank_range *range);

#endif
