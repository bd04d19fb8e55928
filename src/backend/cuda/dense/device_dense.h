/* The dense steps of ALS on the device, by kernels of kernels/dense and, for ranks above 64, by
 * cuBLAS and cuSOLVER, which are loaded when such a rank is opened.
 *
 * A factor matrix stays as dense_apply leaves it: A_n (I_n x ld, row-major, `ld` entries a row, the
 * columns from R on zero) is not rescaled. Its column norms are kept beside it, and every step
 * accounts for them in an R x R matrix instead of in a pass over the factor matrix. All R x R
 * matrices are double, full, with leading dimension R.
 *
 * Passes over factor matrices run on one stream, R x R work on another, for which the next MTTKRP
 * does not wait. Everything is asynchronous unless its comment says otherwise. */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/dense/dense_extrapolate.h"
#include "kernels/dense/dense_inverse.h"
#include "numerics/precision.h"

struct device_dense; /* library handles and arrays */

/* The rows of M and of a factor matrix A that a pass of the dense steps works on. Device pointers.
 */
struct device_dense_rows {
    const void *m; /* (count x ld)                                                  */
    void *a;       /* (count x ld), not M; its columns R to ld become zero          */
    uint64_t count;
    double *raw; /* (R x R) = A' A, which is there when the side stream gets there; the next pass
                  * must wait for that                                              */
};

#define DEVICE_DENSE_PASSES 256 /* whose events device_dense_passed keeps */

/* Where the dense steps run. */
struct device_dense_place {
    int device;        /* its number; it is the calling thread's */
    cudaStream_t pass; /* of passes over factor matrices         */
    cudaStream_t side; /* of R x R work; may be the same         */
};

/* For rank R and rows of ld entries (a multiple of 16 bytes). precision: of factor matrices and M.
 * The streams must outlive *d, which the caller closes. STATUS_INPUT where R is too large for a
 * GPU, or needs a library that is not there; STATUS_MEMORY. */
enum status device_dense_open(struct device_dense **d, const struct device_dense_place *place,
                              uint64_t rank, uint64_t ld, enum precision precision,
                              struct error *error);
void device_dense_close(struct device_dense *d);

/* From now on device_dense_inverse does not wait. Where V is too ill-conditioned to be inverted in
 * its k-th call after this one, *halt (device, 0 before) becomes k, and while *halt is not 0
 * device_dense_apply changes nothing. halt NULL:
 * device_dense_inverse waits again. Returns whether device_dense_inverse runs ahead: for a large R
 * it waits all the same. */
bool device_dense_run_ahead(struct device_dense *d, int *halt);

/* Whether the last device_dense_inverse that waited found V too ill-conditioned to be inverted. */
bool device_dense_singular(const struct device_dense *d);

/* About the reciprocal condition number of the last V: 0 where eigenvalues counted as zero, besides
 * those of columns that are zero; 1 where V could be inverted. */
double device_dense_reciprocal(const struct device_dense *d);

/* On the side stream, w (R x R, device) = diag(prod over m != mode of 1/norm_m) V^+, by which
 * device_dense_apply multiplies, where V = Hadamard product over m != mode of gram_m, plus ridge on
 * the diagonal: by Cholesky. Where V is ill-conditioned, w becomes the first half of that product,
 * diag(..) Q L^+ of V's eigendecomposition, in which V is scaled to a diagonal of about one and
 * eigenvalues up to R * eps * (largest) count as zero; device_dense_apply then multiplies by the
 * second half too. Waits for the stream, unless it runs ahead. STATUS_NUMERICAL where the
 * eigendecomposition does not converge. */
enum status device_dense_inverse(struct device_dense *d, const struct dense_modes *modes,
                                 double ridge, double *w, struct error *error);

/* A = M times what the last device_dense_inverse has made, in w; and A' A, in the same pass where
 * that is faster. */
enum status device_dense_apply(struct device_dense *d, const struct device_dense_rows *rows,
                               const double *w, struct error *error);

/* The timed event that was recorded after the last pass on its stream, where the side stream was
 * another one: after device_dense_apply, device_dense_apply_nonneg, device_dense_extrapolate, or
 * device_dense_inner where that has read M and A. The event is recorded again after
 * DEVICE_DENSE_PASSES others. */
cudaEvent_t device_dense_passed(const struct device_dense *d);

/* The same for a nonnegative factor matrix (numerics/nonneg.h). device_dense_open_nonneg comes
 * first, once: STATUS_INPUT where R is too large for it. device_dense_prepare_nonneg takes the
 * place of device_dense_inverse and counts as a call of it, but never waits and never fails for V;
 * lambda (R, device): the weights of the present model; norm_mode: the norms of A's columns; rows:
 * of the whole factor matrix. device_dense_apply_nonneg changes A in place; fit_rows: lambda is not
 * known yet, so each row is first scaled to fit best. */
enum status device_dense_open_nonneg(struct device_dense *d, struct error *error);
enum status device_dense_prepare_nonneg(struct device_dense *d, const struct dense_modes *modes,
                                        double ridge, const double *lambda, uint64_t rows,
                                        struct error *error);
enum status device_dense_apply_nonneg(struct device_dense *d, const struct device_dense_rows *rows,
                                      bool fit_rows, struct error *error);

/* Between two sweeps, the extrapolated factor matrices of all modes (dense_extrapolate.h).
 * device_dense_open_extrapolate comes first, once: STATUS_MEMORY. device_dense_extrapolate: S = Y,
 * and raw (modes x R x R) = Y'Y of the rows that count, which is there when the side stream gets
 * there; the next pass must wait for that. */
enum status device_dense_open_extrapolate(struct device_dense *d, struct error *error);
enum status device_dense_extrapolate(struct device_dense *d,
                                     const struct dense_extrapolate_args *args, double *raw,
                                     struct error *error);

/* rows->raw = A' A of rows->a, which is only read, on the stream of passes; rows->m is not used. */
enum status device_dense_gram(struct device_dense *d, const struct device_dense_rows *rows,
                              struct error *error);

/* For the M and A of the last device_dense_apply or device_dense_apply_nonneg, both unchanged
 * since: *inner (R, device; owned by *d) = sum_i M(i,r) A(i,r), for later work on the side stream.
 * For rows of up to 64 entries the pass has summed the products already; otherwise M and A are read
 * on the stream of passes, where they may be changed afterwards. */
enum status device_dense_inner(struct device_dense *d, const double **inner, struct error *error);
