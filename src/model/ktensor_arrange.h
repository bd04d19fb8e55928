/* Arranging a model of which only some rows are here, such as the rows of one of several ranks. */
#pragma once

#include "model/factor_columns.h"
#include "model/ktensor.h"

/* The rows of each mode n that belong to this part alone: first[n], counted among the rows that are
 * here, and how many. All parts together have each row of the model once. */
struct ktensor_rows {
    uint64_t first[MAX_ORDER], count[MAX_ORDER];
};

/* column[0..count), measured on a part's own rows, becomes that of the own rows of all parts. Every
 * part gets the same bits, or an error. */
typedef enum status ktensor_combine(void *context, struct column *column, uint64_t count,
                                    struct error *error);

/* Brings all rows that are here into the standard form of the whole model (ktensor_arrange), which
 * depends on all parts: `combine` is called once, with the columns of the first mode, the second
 * and so on (order x R); NULL: all rows are here. lambda is the same in all parts. On failure *k is
 * unchanged. STATUS_MEMORY, and errors of `combine`. */
enum status ktensor_arrange_part(struct ktensor *k, const struct ktensor_rows *own,
                                 ktensor_combine *combine, void *context, struct error *error);

/* How a model becomes its standard form (ktensor_arrange): the order of the components, and the
 * divisor of each column. These follow from the columns of the whole model (struct column).
 * ktensor_arrange.c applies them in host memory; a backend applies them to rows that it stores. */
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

/* k takes the new weights, and what belongs to its components their order. */
void arrangement_take(struct arrangement *a, struct ktensor *k);

/* Accepts an empty one. */
void arrangement_free(struct arrangement *a);
