#include "backend/column_form.h"

#include <math.h>

#include "base/vector_clones.h"

struct column_form column_form_of(const struct model_form *form, int n, const double *scale,
                                  double *room)
{
    const uint64_t rank = form->arrangement->rank, *from = form->arrangement->from;
    const double *bound = form->bound[n];
    for (uint64_t r = 0; r < rank; r++) {
        room[r] = scale[from[r]];
        room[rank + r] = form->lambda[from[r]];
        room[2 * rank + r] = bound ? bound[from[r]] : -INFINITY;
    }
    return (struct column_form){.from = from,
                                .scale = room,
                                .weight = room + rank,
                                .bound = room + 2 * rank,
                                .has_zeros = bound,
                                .divisor = form->arrangement->divisor + (uint64_t)n * rank};
}

VECTOR_CLONES void column_form_row(const struct column_form *form, const void *row,
                                   enum precision precision, uint64_t first, uint64_t count,
                                   double *restrict to)
{
    const double *doubles = row, *scale = form->scale + first, *weight = form->weight + first,
                 *bound = form->bound + first, *divisor = form->divisor + first;
    const float *floats = row;
    const uint64_t *from = form->from + first;
    const bool is_single = precision == PRECISION_SINGLE, has_zeros = form->has_zeros;
    for (uint64_t c = 0; c < count; c++) {
        const double x = (is_single ? floats[from[c]] : doubles[from[c]]) * scale[c];
        to[c] = (has_zeros && x * weight[c] <= bound[c] ? 0 : x) / divisor[c];
    }
}
