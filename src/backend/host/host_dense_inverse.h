/* The pseudoinverse of a small symmetric matrix, as what rows are multiplied by. */
#ifndef BLCO_HOST_DENSE_INVERSE_H
#define BLCO_HOST_DENSE_INVERSE_H

#include <stdint.h>

#include "base/error.h"

/* V^+ = factor[0] for a V that is well conditioned or singular; factor[0] factor[1], the inverses
 * of V's Cholesky factors, where V^-1 itself would carry noise into the rows. */
struct host_dense_inverse {
    uint64_t rank;      /* R                                             */
    uint64_t rank_of_v; /* R, or the rank found                          */
    int factors;        /* 1 or 2                                        */
    double *factor[2];  /* (R x R) each, the second where there are two; owned */
};

/* Of symmetric positive semidefinite V (R x R, destroyed). Cholesky; where V is not numerically
 * positive definite, the pseudoinverse by eigendecomposition, with eigenvalues up to R * eps *
 * (largest) taken as zero. STATUS_NUMERICAL where V is not finite. On failure *p is empty. */
enum status host_dense_inverse_create(struct host_dense_inverse *p, double *v, uint64_t rank,
                                      struct error *error);

/* Makes it the pseudoinverse with row r multiplied by row[r], column r by column[r] (R each). */
void host_dense_inverse_scale(struct host_dense_inverse *p, const double *row,
                              const double *column);

/* Accepts an empty one. */
void host_dense_inverse_free(struct host_dense_inverse *p);

/* OpenBLAS is called on one thread at a time; call once. */
void host_dense_init(void);

#endif
