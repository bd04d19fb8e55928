/* The form in which a model leaves a backend: its columns have unit length, then get another order
 * and a divisor each, and entries that are no more than rounding become 0. */
#pragma once

#include <stdbool.h>

#include "model/ktensor_arrange.h"
#include "numerics/precision.h"

/* Entry x of unit column r of mode n counts as zero where bound[n] is not NULL and x lambda[r] <=
 * bound[n][r] (numerics/nonneg.h). Then the arrangement gives the order and the divisors of
 * the columns. All but the arrangement is in the backend's order. */
struct model_form {
    bool whole; /* the model has all rows of the tensor, and those that this rank solves are written
                 * to it; else the rows of the rank's part                                  */
    const double *lambda;           /* (R) */
    const double *bound[MAX_ORDER]; /* (R) */
    const struct arrangement *arrangement;
};

/* The same for the columns of one factor matrix as it stands in a backend. All arrays (R) are in
 * the new order. */
struct column_form {
    const uint64_t *from;  /* the column in the backend                                          */
    const double *scale;   /* multiplies its entries ...                                         */
    const double *weight;  /* ... which become 0 where the product with the weight is not above  */
    const double *bound;   /* the bound, -inf where there is none                                */
    bool has_zeros;        /* some bound is not -inf                                             */
    const double *divisor; /* divides them in the end                                           */
};

/* The form of mode n, where `scale` (R), in the backend's order, gives the columns unit length.
 * room (3 R): scale, weight and bound of the result. */
struct column_form column_form_of(const struct model_form *form, int n, const double *scale,
                                  double *room);

/* to (count) = the columns from `first` on of a row of this precision, in this form. */
void column_form_row(const struct column_form *form, const void *row, enum precision precision,
                     uint64_t first, uint64_t count, double *restrict to);
