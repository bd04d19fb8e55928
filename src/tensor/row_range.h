/* Which rows of a mode the lines between two lines of an ordering can have: in alto order,
 * neighbouring lines are near each other in every mode. */
#ifndef BLCO_ROW_RANGE_H
#define BLCO_ROW_RANGE_H

#include "tensor/ordering.h"

struct row_range {
    uint32_t first, last; /* both included */
};

/* The least range that has both. */
static inline struct row_range row_range_both(struct row_range a, struct row_range b)
{
    return (struct row_range){.first = a.first < b.first ? a.first : b.first,
                              .last = a.last > b.last ? a.last : b.last};
}

/* The least and the largest coordinate of `mode` on the lines from `from` to `to` (ceil(B/64) words
 * each, from <= to). Lines whose coordinates are beyond a mode's length count too. */
struct row_range row_range_of_lines(const struct ordering *o, int mode, const uint64_t *from,
                                    const uint64_t *to);

#endif
