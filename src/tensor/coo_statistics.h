/* What `blco info` says of a tensor's nonzeros. */
#ifndef BLCO_COO_STATISTICS_H
#define BLCO_COO_STATISTICS_H

#include "base/progress.h"
#include "tensor/coo_pieces.h"

struct coo_statistics {
    double norm_sq;                    /* sum of squared values, as norm_sum.h defines it */
    double least, largest;             /* of the values                                   */
    int all_integer;                   /* every value is a whole number                   */
    uint64_t empty_slices[MAX_ORDER];  /* indices of mode n that no nonzero has           */
    uint64_t largest_slice[MAX_ORDER]; /* nonzeros of mode n's fullest index              */
};

/* Of distinct nonzeros that come in pieces. The pieces are gone through once if `memory` bytes hold
 * a counter for each index of each mode (slice_counts_bytes), or else as often as it takes, for
 * some of the indices each time: for a 4096th of a mode's at the least. Neither memory nor pieces
 * nor the number of OpenMP threads, all of which are used, change the result. STATUS_MEMORY, and
 * what the pieces fail with. */
enum status coo_pieces_statistics(const struct coo_pieces *pieces, uint64_t memory,
                                  struct coo_statistics *s, struct progress *progress,
                                  struct error *error);

/* Of a tensor in memory, as one piece. */
enum status coo_statistics(const struct coo *x, uint64_t memory, struct coo_statistics *s,
                           struct progress *progress, struct error *error);

#endif
