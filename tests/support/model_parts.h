/* A model cut into the parts of several ranks. Include it after cmocka.h. */
#pragma once

#include <string.h>

#include "model/ktensor_arrange.h"

/* The rows of a rank: its own, and rows of its neighbours before and after them. */
struct model_part {
    struct ktensor k; /* owned */
    struct ktensor_rows own;
    struct shape whole;
};

/* A rank's own rows of a mode are piece number (size - 1 - rank + mode) % size of it: the order of
 * the ranks is not that of the rows. If a mode is shorter than the number of ranks, some ranks have
 * no rows of it. */
static inline struct model_part model_part_make(const struct ktensor *whole, int rank, int size)
{
    struct error error = {0};
    struct part part = part_all(&whole->shape);
    struct model_part p = {.whole = whole->shape};
    for (int n = 0; n < whole->shape.order; n++) {
        uint64_t piece = (uint64_t)((size - 1 - rank + n) % size), length = whole->shape.dims[n];
        uint64_t first = length * piece / (uint64_t)size;
        uint64_t end = length * (piece + 1) / (uint64_t)size;
        uint64_t behind = length - end < 2 ? length - end : 2;
        p.own.first[n] = first < 2 ? first : 2;
        p.own.count[n] = end - first;
        part.first[n] = first - p.own.first[n];
        part.here.dims[n] = p.own.first[n] + p.own.count[n] + behind;
    }
    assert_int_equal(ktensor_create_part(&p.k, &part, whole->rank, &error), STATUS_OK);
    memcpy(p.k.lambda, whole->lambda, whole->rank * sizeof *whole->lambda);
    for (int n = 0; n < whole->shape.order; n++)
        memcpy(p.k.factor[n], whole->factor[n] + part.first[n] * whole->rank,
               part.here.dims[n] * whole->rank * sizeof *whole->factor[n]);
    return p;
}

static inline void model_parts_make(struct model_part *part, const struct ktensor *whole, int size)
{
    for (int k = 0; k < size; k++)
        part[k] = model_part_make(whole, k, size);
}

static inline void model_parts_free(struct model_part *part, int size)
{
    for (int k = 0; k < size; k++)
        ktensor_free(&part[k].k);
}
