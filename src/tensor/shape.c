#include "tensor/shape.h"

#include <string.h>

struct shape shape_of(int order, const uint64_t *dims)
{
    struct shape s = {.order = order};
    for (int n = 0; n < order && n < MAX_ORDER; n++)
        s.dims[n] = dims[n];
    return s;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->order == b->order &&
           memcmp(a->dims, b->dims, (size_t)a->order * sizeof *a->dims) == 0;
}

uint64_t shape_longest(const struct shape *s)
{
    uint64_t longest = 0;
    for (int n = 0; n < s->order; n++)
        longest = s->dims[n] > longest ? s->dims[n] : longest;
    return longest;
}

struct part part_all(const struct shape *whole)
{
    return (struct part){.whole = *whole, .here = *whole};
}

struct shape part_shape(const struct part *part)
{
    struct shape shape = part->here;
    for (int n = 0; n < shape.order; n++)
        shape.dims[n] += shape.dims[n] == 0;
    return shape;
}
