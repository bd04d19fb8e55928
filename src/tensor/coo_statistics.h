/* Statistics of a tensor's nonzeros, as `blco info` prints them. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"
#include "tensor/coo.h"

struct coo_statistics {
    double norm; /* the root of the sum of squared values, as struct norm_sum defines it  */
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

/* Each slice of a mode has a counter. A class is the indices with the same remainder by 2^bits.
 * These are the most bytes that the counters of one class take, for a mode of `length` indices in
 * a tensor of `nnz` nonzeros: 8 for each index, or, where there are many more indices than
 * nonzeros, up to 64 for each index that occurs (if the classes have equally many of these). */
uint64_t slice_counts_bytes(uint64_t length, uint64_t nnz, int bits);
