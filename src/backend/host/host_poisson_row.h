/* Improves a row of a model of counts (numerics/poisson_term.h) on the host. */
#ifndef BLCO_HOST_POISSON_ROW_H
#define BLCO_HOST_POISSON_ROW_H

#include <stdint.h>

#include "problem/problem.h"

/* What all rows of a mode have in common. Arrays are borrowed. Entry r of a row is unit[r] times
 * that of the factor matrix with its weights. */
struct host_poisson_rows {
    uint64_t rank, ld; /* rows of matrices have ld entries, the last ones 0 */
    enum solver solver;
    const double *common; /* (R) h s                                           */
    const double *unit;   /* (R)                                               */
    double count;         /* what a count of 1 is in the tensor that the backend works on */
};

/* The system of one row: b, q (ld) and, with SOLVER_NEWTON, G (ld x ld), of which entries (i, j)
 * with i <= j count, or Y (factor x ld), where G = Y'Y and factor is not 0. */
struct host_poisson_row {
    const double *b, *q, *g;
    uint64_t factor;
    double known; /* how many values there are */
    double least; /* of those above 0          */
};

/* Doubles of scratch memory that host_poisson_rows_improve takes. */
uint64_t host_poisson_row_room(uint64_t rank, enum solver solver);

/* Each a (ld) of `count` rows, at most as many as host_rows_kernels takes, becomes a better row:
 * the objective never rises. Returns the largest |min(a, g)| of the rows as they were.
 *
 * SOLVER_MU: a (b / (h s + q)), the multiplicative step (D. D. Lee, H. S. Seung, NIPS 2000).
 *
 * SOLVER_NEWTON: the step d that coordinate descent finds for the quadratic model, which leaves
 * POISSON_KEEPS of each entry at least, damped by 1 / (1 + L) where L = sqrt(d'Hd / least) is not
 * small. The objective divided by the least value is self-concordant, so that it then falls by
 * least (L - log(1 + L)) or more (Y. Nesterov: *Lectures on Convex Optimization*, 2018,
 * section 5.2). Where the multiplicative step surely gains more, that one is taken. Short rows
 * (poisson_short_rows) take the diagonal step instead, damped likewise: multiplied so that the
 * model has the row's total, all entries go to their own minima of the quadratic model, as far as
 * that falls. It makes small entries large at once, as multiplicative steps do not, and leaves more
 * of the others than Newton's, which ends where few entries have all. */
double host_poisson_rows_improve(const struct host_poisson_rows *s,
                                 const struct host_poisson_row *x, uint64_t count, double *const *a,
                                 double *scratch);

#endif
