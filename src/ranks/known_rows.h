/* How many entries of a tensor are known, and in how many slices. */
#ifndef BLCO_KNOWN_ROWS_H
#define BLCO_KNOWN_ROWS_H

#include "ranks/rank_tensor.h"

/* Of all ranks. */
struct known_rows {
    uint64_t entries;         /* listed ones whose value is known                             */
    uint64_t rows[MAX_ORDER]; /* of each mode: slices, or rows of its factor matrix, that have such
                               * an entry                                                     */
    uint64_t unknown[MAX_ORDER]; /* slices that list entries, none of them known              */
    uint64_t first[MAX_ORDER];   /* (from 0) the first of `unknown`, or, where `all` slices without
                                  * a known entry are looked for, the first of these; NO_ROW where
                                  * there is none                                             */
};

/* Counts them in a tensor that has been read and whose rows are dealt. Every rank calls it.
 * STATUS_MEMORY; failures of other ranks. */
enum status known_rows_count(struct known_rows *k, const struct rank_tensor *t, bool all,
                             struct error *error);

#endif
