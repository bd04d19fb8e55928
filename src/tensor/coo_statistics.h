/* Statistics of a tensor's nonzeros, as `blco info` prints them. */
#ifndef BLCO_COO_STATISTICS_H
#define BLCO_COO_STATISTICS_H

#include "base/progress.h"
#include "tensor/coo.h"

struct coo_statistics {
    double norm; /* the root of the sum of squared values, as norm_sum.h defines the sum  */
    double least, largest;             /* values that are known; 0 where there are none   */
    int all_integer;                   /* every known value is a whole number             */
    struct coo_listed listed;          /* `dropped` is 0                                  */
    uint64_t empty_slices[MAX_ORDER];  /* slices of mode n without a nonzero              */
    uint64_t largest_slice[MAX_ORDER]; /* nonzeros of mode n's fullest slice              */
};

/* Statistics of distinct nonzeros that come in pieces. One pass over the pieces is enough where
 * `memory` bytes hold a counter for each index of each mode (slice_counts_bytes); otherwise each
 * pass counts some of the indices, at least a 4096th of a mode's. Values whose squares a double
 * cannot hold take one more pass. By all OpenMP threads; neither their number nor memory nor pieces
 * change the result. `progress` may be NULL. STATUS_MEMORY, and the failures of the pieces. */
enum status coo_pieces_statistics(const struct coo_pieces *pieces, uint64_t memory,
                                  struct coo_statistics *s, struct progress *progress,
                                  struct error *error);

/* Statistics of a tensor in memory, as one piece. */
enum status coo_statistics(const struct coo *x, uint64_t memory, struct coo_statistics *s,
                           struct progress *progress, struct error *error);

#endif
