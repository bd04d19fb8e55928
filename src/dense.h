/* Dense steps of ALS on the host: OpenBLAS and LAPACKE on row slices, by all OpenMP threads. Slices
 * do not depend on the number of threads, so neither do the results. Matrices are row-major. */
#ifndef BLCO_DENSE_H
#define BLCO_DENSE_H

#include <stdint.h>

#include "error.h"

/* G (R x R, full) = A' A of A (rows x R). */
enum status dense_gram(const double *a, uint64_t rows, uint64_t rank, double *g,
                       struct error *error);

/* A (rows x R) = M V^+ for symmetric positive semidefinite V (R x R, destroyed). Cholesky; where V
 * is not numerically positive definite, the pseudoinverse by eigendecomposition, with eigenvalues
 * up to R * eps * (largest) taken as zero. *rank_of_v receives R, or the rank found. M and A may be
 * the same array. */
enum status dense_solve(double *v, const double *m, double *a, uint64_t rows, uint64_t rank,
                        uint64_t *rank_of_v, struct error *error);

/* Squared 2-norms are on the Gram's diagonal; multiplies column r of A by scale[r]. */
void dense_scale_columns(double *a, uint64_t rows, uint64_t rank, const double *scale);

/* sum_i sum_r M(i,r) A(i,r) lambda_r. */
enum status dense_inner(const double *m, const double *a, const double *lambda, uint64_t rows,
                        uint64_t rank, double *inner, struct error *error);

/* OpenBLAS is called on one thread at a time from inside our own parallel regions; call once. */
void dense_init(void);

#endif
