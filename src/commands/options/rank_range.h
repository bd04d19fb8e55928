/* The ranks that -r names: one, or several to be compared. */
#ifndef BLCO_RANK_RANGE_H
#define BLCO_RANK_RANGE_H

#include <stdint.h>

#include "commands/options/cli.h"

#define RANK_RANGE_MOST 1000 /* ranks */

struct rank_range {
    uint64_t first, last, step; /* last is one of the ranks                                  */
};

/* Takes "8", "1:4" (1, 2, 3 and 4) or "4:32:4" (4, 8, ..., 32) into a struct rank_range. */
cli_setter rank_range_set;

/* How many ranks there are. */
int rank_range_count(const struct rank_range *range);

#endif
