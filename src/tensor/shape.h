/* The shape of a tensor: its order and the lengths of its modes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "numerics/max_order.h"

#define MAX_LENGTH UINT32_MAX          /* of a mode   */
#define MAX_NNZ    (UINT64_C(1) << 40) /* of a tensor */

struct shape {
    int order;                /* N, 1 to MAX_ORDER                       */
    uint64_t dims[MAX_ORDER]; /* I_n, 1 to MAX_LENGTH, for n < order     */
};

/* The shape of `order` modes with lengths dims[0..order); the other lengths are 0. An order that no
 * tensor has is kept as it is, for the caller to refuse. */
struct shape shape_of(int order, const uint64_t *dims);

/* For callers that have order and lengths separately: a pointer to shape_of(order, dims), valid to
 * the end of the enclosing C block. */
#define SHAPE(order, dims) ((struct shape[]){shape_of((order), (dims))})

/* Whether both have the same order and the same lengths. */
bool shape_equal(const struct shape *a, const struct shape *b);

/* The length of the longest mode. */
uint64_t shape_longest(const struct shape *s);

/* The part of a tensor that this rank has: here.dims[n] of the whole.dims[n] rows of mode n. Row i
 * of the part is row first[n] + i of the whole, or, where row[n] is not NULL, row row[n][i]. A rank
 * alone has the whole tensor. */
struct part {
    struct shape whole, here;
    uint64_t first[MAX_ORDER];
    const uint64_t *row[MAX_ORDER]; /* (here.dims[n]); NO_ROW: a row of zeros; borrowed */
};

#define NO_ROW UINT64_MAX

/* The part that is a whole tensor of this shape. */
struct part part_all(const struct shape *whole);

/* part->here with length 1 instead of 0, so that a part without rows is a tensor as well. */
struct shape part_shape(const struct part *part);
