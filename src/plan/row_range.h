/* Which rows of a mode the nonzeros of packed segments can have, told by the lines between which
 * they stand: in alto order these cover a box of the tensor. */
#ifndef BLCO_ROW_RANGE_H
#define BLCO_ROW_RANGE_H

#include "formats/blco/packed_tensor.h"
#include "tensor/ordering.h"

struct row_range {
    uint32_t first, last; /* both among them */
};

/* The least and the largest coordinate of `mode` of all lines from `from` to `to` (ceil(B/64) words
 * each, from <= to), also those of coordinates beyond the mode's length. */
struct row_range row_range_of_lines(const struct ordering *o, int mode, const uint64_t *from,
                                    const uint64_t *to);

/* range[b] = the rows that batch b can have, of `segments` segments each but the last, which may
 * have fewer. Looks at the first group of each segment only, by all OpenMP threads, and holds where
 * the segments stand in the order of p->kind. */
void row_range_of_batches(struct row_range *range, const struct packed_tensor *p, int mode,
                          uint64_t segments);

#endif
