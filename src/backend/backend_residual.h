/* The fit from the residual itself: ||X - Y||^2 of the tensor X and the model Y, from a pass over
 * the nonzeros, in twice the digits of a double.
 *
 * Computed in doubles, ||X - Y||^2 has an error of about 1e-16 ||X||^2, so that the fit of a Y near
 * X has only half of its digits. The cells without a nonzero, too many to visit, are counted by
 * ||Y||^2:
 *
 *   ||X - Y||^2 = sum over the nonzeros x, where Y has the value y, of x (x - 2 y), plus ||Y||^2
 *
 * Where unlisted entries have another weight than 1, so has ||Y||^2 (numerics/row_term.h).
 *
 * These terms cancel too, but with twice the digits the error is about 1e-30 ||X||^2, and the fit
 * has more digits than are printed. */
#ifndef BLCO_BACKEND_RESIDUAL_H
#define BLCO_BACKEND_RESIDUAL_H

#include <stdint.h>

#include "comm/comm.h"
#include "numerics/double_double.h"
#include "tensor/shape.h"

/* What a backend fills in, on each rank. The model has the value sum over r of weight[r] F_1(i_1,r)
 * ... F_N(i_N,r), where F_n is the factor matrix as it stands in the backend, whatever the norms of
 * its columns. */
struct backend_residual {
    int order;
    uint64_t rank;
    double norm_sq;                /* ||X||^2                                                   */
    double unlisted;               /* the weight of unlisted entries                            */
    double *weight;                /* (R); owned                                                */
    struct double_double nonzeros; /* the sum over the nonzeros that are here                   */
    struct double_double *gram[MAX_ORDER]; /* (R x R) F_n'F_n of the rows that this rank solves,
                                            * entries (i, j) with i <= j; owned                 */
};

/* Zeroes all sums; unlisted entries count as 1. The caller frees *r; it is empty on failure.
 * STATUS_MEMORY. */
enum status backend_residual_create(struct backend_residual *r, int order, uint64_t rank,
                                    struct error *error);

/* Accepts an empty one. */
void backend_residual_free(struct backend_residual *r);

/* *fit = the fit, from the *r of all ranks of c, which this changes. Every rank calls it and gets
 * the same bits. STATUS_NUMERICAL where the residual is not finite; errors of comm_allgather. */
enum status backend_residual_fit(struct backend_residual *r, struct comm *c, double *fit,
                                 struct error *error);

#endif
