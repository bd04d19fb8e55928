/* How the rows of a mode are solved, for host and device code: what the problem asks (the seam's
 * backend_problem.h makes it), and what follows for an entry. */
#pragma once

#include <math.h>

#include "numerics/poisson_term.h"
#include "numerics/common_function.h"

#define ROW_RIDGE_LIMIT 1e200 /* of a component that has become zero, which stays so */

/* What the entries of a row that is not free may become. So far: no less than the part `keeps` of
 * what they were, so that they stay nonnegative. Bounds or a 1-norm would be more members. */
struct prox_rule {
    double keeps;
};

struct row_rules {
    double ridge;    /* of component r: row_ridge                                             */
    double power;    /* the ridge falls as this power of a weight; 0: it does not             */
    int counted;     /* it is multiplied by a row's known entries                             */
    int nonneg;      /* no entry becomes negative                                             */
    double unlisted; /* h, the weight of unlisted entries                                     */
    int rates;       /* the model's values are rates of counts: numerics/poisson_term.h       */
    enum poisson_kind kind; /* ... of this kind                                               */
    int matrix;   /* systems have G; not for multiplicative steps                          */
    int weighed;  /* of rates: not every listed entry has the weight h                     */
    double count; /* what a count of 1 is: the tensor may have been scaled                 */
    double floor; /* of rates: of an entry of a new row                                    */
    struct prox_rule prox; /* what an entry may become where nonneg is set                    */
};

/* The ridge of a component with this weight. */
COMMON_FUNCTION double row_ridge(const struct row_rules *rules, double weight)
{
    double ridge = rules->ridge;
    if (ridge > 0 && rules->power > 0)
        ridge = weight > 0 ? ridge * pow(weight, -rules->power) : ROW_RIDGE_LIMIT;
    return ridge < ROW_RIDGE_LIMIT ? ridge : ROW_RIDGE_LIMIT;
}

/* What a ridge adds to the squared misfit; sum: over the components, of the power of their weights
 * that the ridge stands for, 2 unless it is balanced. */
COMMON_FUNCTION double ridge_penalty(double ridge, double sum)
{
    return rounded_product(ridge, sum);
}

/* The proximal step: how far an entry that was `old` moves where the misfit alone would move it by
 * `wanted`; as little as it may where that is NaN. All coordinate descents of rows call it. */
COMMON_FUNCTION double prox(double wanted, double old, struct prox_rule rule)
{
    const double least = (rule.keeps - 1) * old;
    return wanted > least ? wanted : least;
}
