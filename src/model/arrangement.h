/* How a model becomes its standard form (ktensor_arrange): the order of the components, and the
 * divisor of each column. These follow from the columns of the whole model (struct column).
 * ktensor_arrange.c applies them in host memory; a backend applies them to rows that it stores. */
#ifndef BLCO_ARRANGEMENT_H
#define BLCO_ARRANGEMENT_H

#include "model/factor_columns.h"
#include "model/ktensor.h"

struct arrangement {
    uint64_t rank;
    struct column *column; /* (N x R): of the whole factor matrices, in the old order; owned, as all
                            * arrays here                                                         */
    uint64_t *from;        /* (R): the old index of each component                                */
    double *divisor;       /* (N x R): of each column, with its sign, in the new order            */
    double *lambda;        /* (R): the new weights, in the new order                              */
    struct component *component; /* (R): scratch */
    double *signed_norm;         /* (N x R): scratch */
};

/* For models of this order and rank. The caller fills a->column and frees *a, after a failure too.
 * STATUS_MEMORY. */
enum status arrangement_create(struct arrangement *a, int order, uint64_t rank,
                               struct error *error);

/* Decides from a->column, and from k's lambda and its modes that are fixed or nonnegative. */
void arrangement_decide(struct arrangement *a, const struct ktensor *k);

/* The form of k as it is: the columns are neither moved nor divided. */
void arrangement_keep(struct arrangement *a, const struct ktensor *k);

/* Accepts an empty one. */
void arrangement_free(struct arrangement *a);

#endif
