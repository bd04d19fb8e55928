/* Which rows of a mode the nonzeros of a segment can have, found from the encoding lines at both
 * ends of the segment: in alto order, neighbouring lines are near each other in every mode. */
#ifndef BLCO_ROW_RANGE_H
#define BLCO_ROW_RANGE_H

#include "formats/blco/packed_tensor.h"
#include "tensor/ordering.h"

struct row_range {
    uint32_t first, last; /* both included */
};

/* The least and the largest coordinate of `mode` on the lines from `from` to `to` (ceil(B/64) words
 * each, from <= to). Lines whose coordinates are beyond a mode's length count too. */
struct row_range row_range_of_lines(const struct ordering *o, int mode, const uint64_t *from,
                                    const uint64_t *to);

/* range[b] = the rows of `mode` that batch b can have; range (ceil(p->nsegments / segments)). A
 * batch is `segments` segments; the last batch may have fewer. The segments must stand in the order
 * of p->kind. Reads only the first group of each segment, by all OpenMP threads. */
void row_range_of_batches(struct row_range *range, const struct packed_tensor *p, int mode,
                          uint64_t segments);

#endif
