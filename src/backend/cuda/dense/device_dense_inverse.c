#include "backend/cuda/dense/device_dense_inverse.h"

#include <float.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "lapack/symmetric_eigen.h"

#define LOWER CUBLAS_FILL_MODE_LOWER

static const char doing[] = "the inverse of V";

/* Where the flags are in their array. */
enum { FLAG_STATUS, FLAG_INFO, FLAG_COUNT };

/* Loads and starts cuSOLVER, which takes long and is needed only for large R. */
static enum status open_solver(struct device_dense_inverse *d, struct error *error)
{
    const int n = (int)d->rank;
    int cholesky = 0, inverse = 0, eigen = 0;
    d->cusolver = cusolver_library(error);
    if (!d->cusolver)
        return error->status;
    TRY(cusolver_status(memory_hook_fails() ? CUSOLVER_STATUS_ALLOC_FAILED
                                            : d->cusolver->create(&d->solver),
                        "starting cuSOLVER", error));
    TRY(cusolver_status(d->cusolver->dpotrf_room(d->solver, LOWER, n, d->factor, n, &cholesky),
                        "Cholesky", error));
    TRY(cusolver_status(d->cusolver->dpotri_room(d->solver, LOWER, n, d->factor, n, &inverse),
                        "inverse", error));
    TRY(cusolver_status(d->cusolver->dsyevd_room(d->solver, CUSOLVER_EIG_MODE_VECTOR, LOWER, n,
                                                 d->factor, n, d->values, &eigen),
                        "eigendecomposition", error));
    d->work_size = cholesky > inverse ? cholesky : inverse;
    if (eigen > d->work_size)
        d->work_size = eigen;
    return device_array_into(&d->work, (uint64_t)d->work_size + 1, sizeof *d->work, error);
}

enum status device_dense_inverse_open(struct device_dense_inverse *d, uint32_t rank,
                                      enum precision precision, struct error *error)
{
    const uint64_t entries = (uint64_t)rank * rank;
    *d = (struct device_dense_inverse){.rank = rank, .precision = precision};
    TRY(device_array_into(&d->v, entries, sizeof *d->v, error));
    TRY(device_array_into(&d->factor, entries, sizeof *d->factor, error));
    TRY(device_array_into(&d->values, rank, sizeof *d->values, error));
    TRY(device_array_into(&d->flags, FLAG_COUNT, sizeof *d->flags, error));
    d->host_flags = device_pinned_array(FLAG_COUNT, sizeof *d->host_flags, error);
    if (!d->host_flags)
        return error->status;
    return rank > DENSE_INVERSE_SMALL ? open_solver(d, error) : STATUS_OK;
}

void device_dense_inverse_close(struct device_dense_inverse *d)
{
    if (d->solver)
        d->cusolver->destroy(d->solver);
    device_free(d->v);
    device_free(d->factor);
    device_free(d->values);
    device_free(d->flags);
    device_free(d->work);
    device_pinned_free(d->host_flags);
    memory_free(d->host_v);
    *d = (struct device_dense_inverse){0};
}

/* V is inverted where that costs few digits of A V = M: multiplying M by an explicit inverse has a
 * relative error of cond(V) eps. Otherwise M is multiplied by V's eigenvectors, which keeps A V
 * close to M for any condition. */
static double least_pivot(const struct device_dense_inverse *d)
{
    return d->precision == PRECISION_SINGLE ? 1e-4 : 1e-6;
}

/* Eigenvalues up to this times the largest are rounding errors: of V, or of M and A as floats. */
static double eigenvalue_tolerance(const struct device_dense_inverse *d)
{
    return d->rank * (d->precision == PRECISION_SINGLE ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* Copies the flags to the host; waits for the stream. */
static enum status fetch_flags(struct device_dense_inverse *d, cudaStream_t stream,
                               struct error *error)
{
    return device_fetch(d->host_flags, d->flags, FLAG_COUNT * sizeof(int), stream, doing, error);
}

/* W by cuSOLVER's Cholesky decomposition. */
static enum status invert_large(struct device_dense_inverse *d, const struct dense_modes *modes,
                                double ridge, double *w, cudaStream_t stream, struct error *error)
{
    const int n = (int)d->rank;
    int *flag = d->flags + FLAG_STATUS, *info = d->flags + FLAG_INFO;
    TRY(cusolver_status(d->cusolver->set_stream(d->solver, stream), "cuSOLVER", error));
    TRY(cuda_status(dense_inverse_hadamard(modes, ridge, d->v, d->factor, stream),
                    "Hadamard product", error));
    TRY(cusolver_status(
        d->cusolver->dpotrf(d->solver, LOWER, n, d->factor, n, d->work, d->work_size, info),
        "Cholesky", error));
    TRY(cuda_status(
        dense_inverse_check(d->v, d->factor, d->rank, least_pivot(d), info, flag, stream),
        "Cholesky", error));
    TRY(cusolver_status(
        d->cusolver->dpotri(d->solver, LOWER, n, d->factor, n, d->work, d->work_size, info),
        "inverse", error));
    return cuda_status(dense_inverse_finish(modes, d->factor, flag, w, stream), doing, error);
}

static enum status invert_small(struct device_dense_inverse *d, const struct dense_modes *modes,
                                double ridge, double *w, cudaStream_t stream, struct error *error)
{
    return cuda_status(dense_inverse_small(modes, ridge, least_pivot(d), d->v, w,
                                           d->flags + FLAG_STATUS, d->halt, stream),
                       doing, error);
}

/* factor, values = eigenvectors and eigenvalues of factor, by cuSOLVER. Waits for the stream. */
static enum status decompose_large(struct device_dense_inverse *d, cudaStream_t stream,
                                   struct error *error)
{
    const int n = (int)d->rank;
    TRY(cusolver_status(d->cusolver->set_stream(d->solver, stream), "cuSOLVER", error));
    TRY(cusolver_status(d->cusolver->dsyevd(d->solver, CUSOLVER_EIG_MODE_VECTOR, LOWER, n,
                                            d->factor, n, d->values, d->work, d->work_size,
                                            d->flags + FLAG_INFO),
                        "eigendecomposition", error));
    TRY(fetch_flags(d, stream, error));
    if (d->host_flags[FLAG_INFO] == 0)
        return STATUS_OK;
    return error_set(error, STATUS_NUMERICAL,
                     "the eigendecomposition of the Grams' product does not converge");
}

/* The same by LAPACK on the host: for a small V, loading cuSOLVER would take longer than the rest
 * of a short run. Waits for the stream. */
static enum status decompose_small(struct device_dense_inverse *d, cudaStream_t stream,
                                   struct error *error)
{
    const uint64_t n = d->rank, bytes = n * n * sizeof(double);
    if (!d->host_v)
        d->host_v = memory_array(n * n + n, sizeof *d->host_v, error);
    if (!d->host_v)
        return error->status;
    double *values = d->host_v + n * n;
    TRY(device_fetch(d->host_v, d->factor, bytes, stream, doing, error));
    TRY(symmetric_eigen(d->host_v, n, values, error));
    cudaError_t code = cudaMemcpyAsync(d->factor, d->host_v, bytes, cudaMemcpyHostToDevice, stream);
    TRY(cuda_status(code, doing, error));
    code = cudaMemcpyAsync(d->values, values, n * sizeof *values, cudaMemcpyHostToDevice, stream);
    return cuda_status(code, doing, error);
}

/* W from the eigendecomposition of the V that is in d->v. */
static enum status decompose(struct device_dense_inverse *d, const struct dense_modes *modes,
                             double *w, cudaStream_t stream, struct error *error)
{
    const bool is_large = d->rank > DENSE_INVERSE_SMALL;
    TRY(cuda_status(dense_inverse_equilibrate(d->v, d->rank, d->factor, stream),
                    "eigendecomposition", error));
    if ((is_large ? decompose_large : decompose_small)(d, stream, error) != STATUS_OK)
        return error->status;
    return cuda_status(dense_inverse_eigenvectors(modes, d->v, d->factor, d->values,
                                                  eigenvalue_tolerance(d), w, stream),
                       "eigenvectors", error);
}

enum status device_dense_inverse_compute(struct device_dense_inverse *d,
                                         const struct dense_modes *modes, double ridge, double *w,
                                         cudaStream_t stream, struct error *error)
{
    const bool is_large = d->rank > DENSE_INVERSE_SMALL;
    d->halt.code++;
    d->by_eigenvectors = false;
    if ((is_large ? invert_large : invert_small)(d, modes, ridge, w, stream, error) != STATUS_OK)
        return error->status;
    if (d->halt.halt)
        return STATUS_OK;
    TRY(fetch_flags(d, stream, error));
    d->by_eigenvectors = d->host_flags[FLAG_STATUS] == DENSE_INVERSE_SINGULAR;
    return d->by_eigenvectors ? decompose(d, modes, w, stream, error) : STATUS_OK;
}
