/* What an open backend solves. It stands in struct backend, and the backend reads it where it
 * stands, so that what changes between sweeps or runs (weights of unlisted entries, ridges) need
 * not be passed on.
 */
#pragma once

#include "numerics/row_rules.h"
#include "problem/problem.h"
#include "ranks/count_null.h"

struct backend_problem {
    const struct problem *asked; /* what the user asks; borrowed                       */
    int order;
    struct unlisted_count count; /* in this sweep                                      */
    int exponent;                /* the values are those of the tensor divided by 2^exponent */
    double listed;               /* the part of all cells that the tensor lists              */
    double unknown; /* by the weights of the entries, the part of the tensor that nobody knows */
    struct count_null null; /* of rates; of the values that the backend works on        */
};

/* How rows of `mode` are solved in this sweep, where entries have this precision. */
struct row_rules backend_row_rules(const struct backend_problem *p, int mode,
                                   enum precision precision);

/* The power of lambda_r that the penalty of a ridge sums over the components. */
double backend_penalty_power(const struct backend_problem *p);

/* What the ridge adds to the squared misfit after an update of `mode`. `sum`: that of this power;
 * `counted`: what the update has found where the ridge counts entries. */
double backend_penalty(const struct backend_problem *p, int mode, double sum, double counted);

/* The same from the weights (R) themselves. */
double backend_penalty_of(const struct backend_problem *p, int mode, const double *lambda,
                          double counted);
