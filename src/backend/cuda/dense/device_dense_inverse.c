#include "backend/cuda/dense/device_dense_inverse.h"

#include <float.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "lapack/symmetric_eigen.h"

/* Where the flags are in their array. */
enum { FLAG_STATUS, FLAG_INFO, FLAG_COUNT };

/* Loads and starts cuSOLVER, which takes long and is needed only for large R. */
static enum status solver_open(struct device_dense_inverse *d, struct error *error)
{
    const int n = (int)d->rank;
    int cholesky = 0, inverse = 0, eigen = 0;
    d->cusolver = cusolver_library(error);
    if (!d->cusolver)
        return error->status;
    enum status status = cusolver_status(memory_hook_fails() ? CUSOLVER_STATUS_ALLOC_FAILED
                                                             : d->cusolver->create(&d->solver),
                                         "starting cuSOLVER", error);
    if (status == STATUS_OK)
        status = cusolver_status(
            d->cusolver->dpotrf_room(d->solver, CUBLAS_FILL_MODE_LOWER, n, d->factor, n, &cholesky),
            "Cholesky", error);
    if (status == STATUS_OK)
        status = cusolver_status(
            d->cusolver->dpotri_room(d->solver, CUBLAS_FILL_MODE_LOWER, n, d->factor, n, &inverse),
            "inverse", error);
    if (status == STATUS_OK)
        status = cusolver_status(d->cusolver->dsyevd_room(d->solver, CUSOLVER_EIG_MODE_VECTOR,
                                                          CUBLAS_FILL_MODE_LOWER, n, d->factor, n,
                                                          d->values, &eigen),
                                 "eigendecomposition", error);
    if (status != STATUS_OK)
        return status;
    d->work_size = cholesky > inverse ? cholesky : inverse;
    if (eigen > d->work_size)
        d->work_size = eigen;
    return device_array_into(&d->work, (uint64_t)d->work_size + 1, sizeof *d->work, error);
}

enum status device_dense_inverse_open(struct device_dense_inverse *d, uint32_t rank,
                                      enum precision precision, struct error *error)
{
    *d = (struct device_dense_inverse){.rank = rank, .precision = precision};
    const uint64_t entries = (uint64_t)d->rank * d->rank;
    enum status status = device_array_into(&d->v, entries, sizeof *d->v, error);
    if (status == STATUS_OK)
        status = device_array_into(&d->factor, entries, sizeof *d->factor, error);
    if (status == STATUS_OK)
        status = device_array_into(&d->values, d->rank, sizeof *d->values, error);
    if (status == STATUS_OK)
        status = device_array_into(&d->flags, FLAG_COUNT, sizeof *d->flags, error);
    if (status == STATUS_OK) {
        d->host_flags = device_pinned_array(FLAG_COUNT, sizeof *d->host_flags, error);
        status = error->status;
    }
    if (status == STATUS_OK && d->rank > DENSE_WEIGHTS_SMALL)
        status = solver_open(d, error);
    return status;
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

/* V is inverted where that costs few digits of A V = M: the rows of M times an explicit inverse are
 * off by cond(V) eps. Otherwise M is multiplied by V's eigenvectors, which keeps A V close to M
 * whatever the condition. */
static double least_pivot(const struct device_dense_inverse *d)
{
    return d->precision == PRECISION_SINGLE ? 1e-4 : 1e-6;
}

/* Eigenvalues up to this share of the largest are noise: of V itself, or beside the rounding of M
 * and A to float. */
static double eigenvalue_tolerance(const struct device_dense_inverse *d)
{
    return d->rank * (d->precision == PRECISION_SINGLE ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* Waits for the stream and copies the flags to the host. */
static enum status read_flags(struct device_dense_inverse *d, cudaStream_t stream,
                              struct error *error)
{
    enum status status =
        cuda_status(cudaMemcpyAsync(d->host_flags, d->flags, FLAG_COUNT * sizeof(int),
                                    cudaMemcpyDeviceToHost, stream),
                    "weights", error);
    if (status == STATUS_OK)
        status = cuda_status(cudaStreamSynchronize(stream), "weights", error);
    return status;
}

/* W by cuSOLVER's Cholesky decomposition. */
static enum status weights_by_cholesky(struct device_dense_inverse *d,
                                       const struct dense_modes *modes, double ridge, double *w,
                                       cudaStream_t stream, struct error *error)
{
    const int n = (int)d->rank;
    int *status_flag = d->flags + FLAG_STATUS, *info = d->flags + FLAG_INFO;
    enum status status =
        cusolver_status(d->cusolver->set_stream(d->solver, stream), "cuSOLVER", error);
    if (status == STATUS_OK)
        status = cuda_status(dense_inverse_hadamard(modes, ridge, d->v, d->factor, stream),
                             "Hadamard product", error);
    if (status == STATUS_OK)
        status = cusolver_status(d->cusolver->dpotrf(d->solver, CUBLAS_FILL_MODE_LOWER, n,
                                                     d->factor, n, d->work, d->work_size, info),
                                 "Cholesky", error);
    if (status == STATUS_OK)
        status = cuda_status(dense_inverse_check(d->v, d->factor, d->rank, least_pivot(d), info,
                                                 status_flag, stream),
                             "Cholesky", error);
    if (status == STATUS_OK)
        status = cusolver_status(d->cusolver->dpotri(d->solver, CUBLAS_FILL_MODE_LOWER, n,
                                                     d->factor, n, d->work, d->work_size, info),
                                 "inverse", error);
    if (status == STATUS_OK)
        status = cuda_status(dense_inverse_finish(modes, d->factor, status_flag, w, stream),
                             "weights", error);
    return status;
}

/* factor, values = eigenvectors and eigenvalues of factor, by cuSOLVER. Waits for the stream. */
static enum status decompose_large(struct device_dense_inverse *d, cudaStream_t stream,
                                   struct error *error)
{
    const int n = (int)d->rank;
    enum status status =
        cusolver_status(d->cusolver->set_stream(d->solver, stream), "cuSOLVER", error);
    if (status == STATUS_OK)
        status =
            cusolver_status(d->cusolver->dsyevd(d->solver, CUSOLVER_EIG_MODE_VECTOR,
                                                CUBLAS_FILL_MODE_LOWER, n, d->factor, n, d->values,
                                                d->work, d->work_size, d->flags + FLAG_INFO),
                            "eigendecomposition", error);
    if (status == STATUS_OK)
        status = read_flags(d, stream, error);
    if (status == STATUS_OK && d->host_flags[FLAG_INFO] != 0)
        return error_set(error, STATUS_NUMERICAL,
                         "the eigendecomposition of the Grams' product does not converge");
    return status;
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
    cudaError_t code = cudaMemcpyAsync(d->host_v, d->factor, bytes, cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(stream);
    if (cuda_status(code, "weights", error) != STATUS_OK ||
        symmetric_eigen(d->host_v, n, values, error) != STATUS_OK)
        return error->status;
    code = cudaMemcpyAsync(d->factor, d->host_v, bytes, cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess)
        code =
            cudaMemcpyAsync(d->values, values, n * sizeof *values, cudaMemcpyHostToDevice, stream);
    return cuda_status(code, "weights", error);
}

/* W from the eigendecomposition of the V that is in d->v. */
static enum status weights_by_eigenvalues(struct device_dense_inverse *d,
                                          const struct dense_modes *modes, double *w,
                                          cudaStream_t stream, struct error *error)
{
    const bool is_large = d->rank > DENSE_WEIGHTS_SMALL;
    if (cuda_status(dense_inverse_equilibrate(d->v, d->rank, d->factor, stream),
                    "eigendecomposition", error) != STATUS_OK ||
        (is_large ? decompose_large : decompose_small)(d, stream, error) != STATUS_OK)
        return error->status;
    return cuda_status(dense_inverse_eigenvectors(modes, d->v, d->factor, d->values,
                                                  eigenvalue_tolerance(d), w, stream),
                       "eigenvectors", error);
}

enum status device_dense_inverse_compute(struct device_dense_inverse *d,
                                         const struct dense_modes *modes, double ridge, double *w,
                                         cudaStream_t stream, struct error *error)
{
    enum status status;
    d->halt.code++;
    d->by_eigenvectors = false;
    if (d->rank <= DENSE_WEIGHTS_SMALL)
        status = cuda_status(dense_inverse_small(modes, ridge, least_pivot(d), d->v, w,
                                                 d->flags + FLAG_STATUS, d->halt, stream),
                             "weights", error);
    else
        status = weights_by_cholesky(d, modes, ridge, w, stream, error);
    if (status != STATUS_OK || d->halt.halt)
        return status;
    status = read_flags(d, stream, error);
    d->by_eigenvectors =
        status == STATUS_OK && d->host_flags[FLAG_STATUS] == DENSE_WEIGHTS_SINGULAR;
    if (d->by_eigenvectors)
        status = weights_by_eigenvalues(d, modes, w, stream, error);
    return status;
}
