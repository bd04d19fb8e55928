/* The pseudoinverse V^+ of a small symmetric matrix, in the form that rows are multiplied by. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "numerics/precision.h"

/* V^+ = factor[0] where V is well conditioned or singular. Otherwise V^+ = factor[0] factor[1], the
 * inverses of V's Cholesky factors: V^-1 itself would carry noise into the rows. */
struct host_dense_inverse {
    uint64_t rank;      /* R                                                        */
    uint64_t rank_of_v; /* R, or fewer where V is singular                          */
    int factors;        /* 1 or 2                                                   */
    double *factor[2];  /* (R x R) each; owned; factor[1] counts if factors is 2 */
    double reciprocal;  /* of V's condition number, about: 0 where V was cut off    */
};

/* *p = V^+ of symmetric positive semidefinite V (R x R, destroyed): by Cholesky, or, where V is not
 * numerically positive definite, by eigendecomposition, where eigenvalues up to R * eps * (largest)
 * count as zero. Before either, the rows and columns of V are scaled to a diagonal of about one, so
 * that the lengths of columns do not count. eps is that of the precision in which the rows are
 * stored: smaller eigenvalues would drown in the rounding of the rows. STATUS_NUMERICAL where V is
 * not finite or the eigendecomposition fails, STATUS_MEMORY. On failure *p is empty. The caller
 * frees *p with host_dense_inverse_free. */
enum status host_dense_inverse_create(struct host_dense_inverse *p, double *v, uint64_t rank,
                                      enum precision precision, struct error *error);

/* V^+ = diag(row) V^+ diag(column), with row and column (R) each. */
void host_dense_inverse_scale(struct host_dense_inverse *p, const double *row,
                              const double *column);

/* Accepts an empty *p. */
void host_dense_inverse_free(struct host_dense_inverse *p);
