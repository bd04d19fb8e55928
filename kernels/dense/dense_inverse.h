/* R x R matrices of ALS on the device: the inverse of V, unit columns, the model's norm. All are
 * double, full, leading dimension R. Device pointers only; nothing of src/ is known here.
 * Asynchronous; the launch's error is returned. */
#pragma once

#include "kernels/dense/dense_modes.h"
#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Whether V could be inverted. */
enum dense_inverse_status {
    DENSE_INVERSE_DONE,
    DENSE_INVERSE_SINGULAR,  /* not definite enough to be inverted: no W yet */
    DENSE_INVERSE_NOT_FINITE /* V holds a NaN or an infinity: W is all NaN   */
};

/* Largest R of dense_inverse_small. */
#define DENSE_INVERSE_SMALL 64

/* Stops later steps on the device where V turns out singular, before the host knows: a kernel that
 * is given `halt` does nothing while *halt is not 0. NULL: nothing stops it. */
struct dense_halt {
    int *halt;
    int code; /* what *halt becomes, where it is 0 */
};

/* In one thread block: V = Hadamard product of the other modes' Grams, plus ridge on the diagonal;
 * W = diag(prod of the other modes' 1/norm) V^-1. V stays in v (R x R). Where a pivot is not more
 * than `least` times V's diagonal entry, V is singular: *status says so, and *halt is set. */
cudaError_t dense_inverse_small(const struct dense_modes *modes, double ridge, double least,
                                double *v, double *w, int *status, struct dense_halt halt,
                                cudaStream_t stream);

/* The same in steps, for any R: V into both v and factor; Cholesky of factor, by cuSOLVER; a check
 * of the pivots and of cuSOLVER's `info` (device; 0 is good); factor becomes V^-1, at least its
 * entries (i, j) with i <= j, by cuSOLVER; W from that. */
cudaError_t dense_inverse_hadamard(const struct dense_modes *modes, double ridge, double *v,
                                   double *factor, cudaStream_t stream);
cudaError_t dense_inverse_check(const double *v, const double *factor, uint32_t rank, double least,
                                const int *info, int *status, cudaStream_t stream);
cudaError_t dense_inverse_finish(const struct dense_modes *modes, const double *inverse,
                                 const int *status, double *w, cudaStream_t stream);

/* scaled (R x R) = D V D. The diagonal matrix D has the powers of two (numerics/column_scale.h)
 * that bring V's diagonal near one, so that the lengths of columns do not decide which eigenvalues
 * count as zero. */
cudaError_t dense_inverse_equilibrate(const double *v, uint32_t rank, double *scaled,
                                      cudaStream_t stream);

/* W of an ill-conditioned V, from the eigenvalues and eigenvectors of D V D. Row e of `vectors` is
 * the e-th eigenvector, which becomes that times D. W (r, k) = diag(prod of the other modes'
 * 1/norm) (vectors (k, r)) / (eigenvalue k), with zero columns for eigenvalues up to tolerance *
 * (largest), so that W times `vectors` is diag(..) V^+. A component that is zero has a zero on the
 * diagonals of V and D: its column of `vectors` and its row of W become zero, since otherwise
 * rounding errors would be scaled to unit norm. */
cudaError_t dense_inverse_eigenvectors(const struct dense_modes *modes, const double *v,
                                       double *vectors, const double *values, double tolerance,
                                       double *w, cudaStream_t stream);

/* What follows from the Gram of a factor matrix, all (R) or (R x R). */
struct dense_norms {
    const double *raw; /* A'A                                                                 */
    const double *sum; /* NULL, or the column sums of A, which are its norms then             */
    double *norm;      /* sqrt(raw_rr) or sum_r                                               */
    double *gram;      /* raw scaled to columns of norm 1; a zero column stays zero           */
};

/* Makes norm and gram; *bad becomes `code` where it was 0 and a norm is not finite. */
cudaError_t dense_normalise(const struct dense_norms *to, uint32_t rank, int code, int *bad,
                            const int *halt, cudaStream_t stream);

/* What a fit is computed from. */
struct dense_fit_terms {
    double inner;    /* sum_r (prod over other modes of 1/norm(r)) inner(r): <X, model>      */
    double model_sq; /* lambda' (Hadamard product of all Grams) lambda, lambda = norm[mode]  */
    double inner_size, model_size; /* the sums of the magnitudes of the terms of both       */
};

/* *terms (device) from the inner products (R) of the columns of M and of the factor. */
cudaError_t dense_model(const struct dense_modes *modes, const double *inner,
                        struct dense_fit_terms *terms, cudaStream_t stream);

LAUNCHERS_END
