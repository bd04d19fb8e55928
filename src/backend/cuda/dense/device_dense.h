/* The dense steps of ALS on the device, by kernels of kernels/dense and, for ranks above 64, by
 * cuBLAS and cuSOLVER, which are loaded when such a rank is opened.
 *
 * Factor matrices are kept as the solve leaves them: A_n (I_n x ld, row-major, `ld` entries a row,
 * the columns from R on zero) is not rescaled; its column norms live in `norm` and every use of a
 * factor accounts for them in an R x R matrix instead of a pass over the factor. All R x R matrices
 * are double, full, with leading dimension R. Everything is asynchronous on the given stream unless
 * said otherwise: passes over factors belong on one stream, R x R work on another one, for which
 * the next MTTKRP does not wait. */
#ifndef BLCO_DEVICE_DENSE_H
#define BLCO_DEVICE_DENSE_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/dense/dense_extrapolate.h"
#include "kernels/dense/dense_inverse.h"
#include "numerics/precision.h"

struct device_dense; /* library handles and arrays for one pair of streams */

#define DEVICE_DENSE_PASSES 256 /* that device_dense_passed tells apart */

/* On the device of this number, which is the calling thread's, for rank R and rows of ld entries (a
 * multiple of 16 bytes). precision: of factors and M (Grams, V and norms are double). The caller
 * closes *d. STATUS_INPUT where R is too large for a GPU, or needs a library that is not there;
 * STATUS_MEMORY. */
enum status device_dense_open(struct device_dense **d, int device, uint64_t rank, uint64_t ld,
                              enum precision precision, struct error *error);
void device_dense_close(struct device_dense *d);

/* From now on device_dense_inverse does not wait. Where V is too ill-conditioned to be inverted in
 * its k-th call after this one, *halt (device, 0 before) becomes k, and while *halt is not 0
 * neither device_dense_apply nor device_dense_normalise changes anything. halt NULL:
 * device_dense_inverse waits again. Returns whether device_dense_inverse runs ahead: for a large R
 * it waits all the same. */
bool device_dense_run_ahead(struct device_dense *d, int *halt);

/* Whether the last device_dense_inverse that waited found V too ill-conditioned to be inverted. */
bool device_dense_singular(const struct device_dense *d);

/* Prepares the next device_dense_apply, which multiplies by diag(prod over m != mode of 1/norm_m)
 * V^+, where V = Hadamard product over m != mode of gram[m], plus ridge on the diagonal. gram[m] (R
 * x R) are those of the unit columns, norm[m] (R) the norms of the raw columns (0 counts as 1);
 * arrays of `order` device pointers on the host. W (R x R, device) receives that matrix by way of
 * Cholesky's pivots; where V is ill-conditioned, its first half, diag(..) Q L^+ of the
 * eigendecomposition of V, scaled to a diagonal of about one, with eigenvalues up to R * eps *
 * (largest) as zero. The solve knows
 * which of the two W is. Runs on `stream` and waits for it (one small copy tells which), unless it
 * runs ahead. STATUS_NUMERICAL where the eigendecomposition does not converge. */
enum status device_dense_inverse(struct device_dense *d, int order, int mode,
                                 const double *const *gram, const double *const *norm, double ridge,
                                 double *w, cudaStream_t stream, struct error *error);

/* A (rows x ld) = M (rows x ld) times what the last device_dense_inverse has prepared in w, on
 * `stream`; and raw (R x R) = A' A, in the same pass where that pays. raw is there when the stream
 * `sums` gets there, and the next solve must wait for that. M and A are distinct. Columns R to ld
 * of A become zero. */
enum status device_dense_apply(struct device_dense *d, const void *m, const double *w, void *a,
                               uint64_t rows, double *raw, cudaStream_t stream, cudaStream_t sums,
                               struct error *error);

/* The timed event that stands behind the last pass on its stream, where `sums` was another one:
 * that of device_dense_apply, device_dense_apply_nonneg, device_dense_extrapolate, or
 * device_dense_inner where that has read M and A. The event is recorded again after
 * DEVICE_DENSE_PASSES others. */
cudaEvent_t device_dense_passed(const struct device_dense *d);

/* The same for a factor matrix that is to be nonnegative (numerics/nonneg.h), in two steps as
 * well. device_dense_open_nonneg comes first, once: STATUS_INPUT where R is too large for it.
 * device_dense_nonneg_weights counts as a call of device_dense_inverse, but never waits and finds
 * no V too ill-conditioned; lambda (R, device) are the weights of the model as it is, norm[mode]
 * the norms of A's columns, `rows` the rows of the whole factor matrix. device_dense_apply_nonneg
 * changes A in place; fit_rows: lambda says nothing yet. */
enum status device_dense_open_nonneg(struct device_dense *d, int device, struct error *error);
enum status device_dense_nonneg_weights(struct device_dense *d, int order, int mode,
                                        const double *const *gram, const double *const *norm,
                                        double ridge, const double *lambda, uint64_t rows,
                                        cudaStream_t stream, struct error *error);
enum status device_dense_apply_nonneg(struct device_dense *d, const void *m, void *a, uint64_t rows,
                                      bool fit_rows, double *raw, cudaStream_t stream,
                                      cudaStream_t sums, struct error *error);

/* Between two sweeps, the extrapolated factor matrices of all modes (dense_extrapolate.h), in two
 * steps. device_dense_open_extrapolate comes first, once: STATUS_MEMORY. device_dense_extrapolate:
 * S = Y, on `stream`, and raw (modes x R x R) = Y'Y of the rows that count, which is there when the
 * stream `sums` gets there, and the next one must wait for that.
 * device_dense_extrapolated: norms and Grams of unit columns from raw, which may be the sum of
 * several. Of *args, ld and rank count not. */
enum status device_dense_open_extrapolate(struct device_dense *d, int device, struct error *error);
enum status device_dense_extrapolate(struct device_dense *d,
                                     const struct dense_extrapolate_args *args, double *raw,
                                     cudaStream_t stream, cudaStream_t sums, struct error *error);
enum status device_dense_extrapolated(struct device_dense *d,
                                      const struct dense_extrapolate_args *args, const double *raw,
                                      cudaStream_t stream, struct error *error);

/* raw (R x R) = A' A. */
enum status device_dense_gram(struct device_dense *d, const void *a, uint64_t rows, double *raw,
                              cudaStream_t stream, struct error *error);

/* norm_r = sqrt(raw_rr); gram = raw scaled to unit columns (a zero column stays zero); *bad
 * (device) becomes `code` where it was 0 and a norm is not finite. */
enum status device_dense_normalise(struct device_dense *d, const double *raw, double *norm,
                                   double *gram, int code, int *bad, cudaStream_t stream,
                                   struct error *error);

/* For the M and A of the last device_dense_apply or device_dense_apply_nonneg, both unchanged
 * since: *inner (R, device; the dense steps own this array) = sum_i M(i,r) A(i,r). For rows of up
 * to 64 entries that solve has summed the products already; otherwise M and A are read on `stream`,
 * which may then change them. Later work on `sums` finds *inner. */
enum status device_dense_inner(struct device_dense *d, const double **inner, cudaStream_t stream,
                               cudaStream_t sums, struct error *error);

/* *terms, what the fit is computed from: sum_r (prod over m != mode of 1/norm_m(r)) inner_r, the
 * inner product of tensor and model, where `inner` is that of device_dense_inner or the sum of
 * several; and lambda' (Hadamard product of all gram) lambda, lambda = norm[mode]: the model's
 * squared norm. Device pointers. */
enum status device_dense_model(struct device_dense *d, int order, int mode, const double *inner,
                               const double *const *gram, const double *const *norm,
                               struct dense_fit_terms *terms, cudaStream_t stream,
                               struct error *error);

#endif
