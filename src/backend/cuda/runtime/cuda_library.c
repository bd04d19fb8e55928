#include "backend/cuda/runtime/cuda_library.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "kernels/dense/dense_apply.h"
#include "kernels/dense/dense_inverse.h"

#define CUDA_MAJOR (CUDART_VERSION / 1000)

#define TEXT(number)              #number
#define FILE_OF(name, major)      "lib" name ".so." TEXT(major)
#define NEED_ABOVE(rank, library) "on a GPU a rank above " TEXT(rank) " needs " library

static pthread_once_t blas_once = PTHREAD_ONCE_INIT, solver_once = PTHREAD_ONCE_INIT;
static struct cublas_library blas;
static struct cusolver_library solver;
static struct error blas_failure, solver_failure;

enum status cuda_library_load(const char *file, const char *need,
                              const struct library_function *functions, size_t count,
                              struct error *error)
{
    char toolkit[PATH_MAX] = "", remedy[128];
    const char *home = getenv("CUDA_HOME");
    const char *const folders[] = {toolkit, "/usr/local/cuda/lib64", NULL};
    if (home && home[0])
        snprintf(toolkit, sizeof toolkit, "%s/lib64", home);
    snprintf(remedy, sizeof remedy,
             "install this library of CUDA %d, or name its folder in LD_LIBRARY_PATH", CUDA_MAJOR);
    const struct shared_library description = {
        .file = file, .folders = folders, .need = need, .remedy = remedy};
    void *library = shared_library_open(&description, error);
    if (!library)
        return error->status;
    const char *missing = shared_library_bind(library, functions, count);
    if (missing)
        return error_set(error, STATUS_INPUT, "%s, but %s has no %s: %s", need, file, missing,
                         remedy);
    return STATUS_OK;
}

static void load_blas(void)
{
    const struct library_function functions[] = {
        {&blas.create, "cublasCreate_v2"},
        {&blas.destroy, "cublasDestroy_v2"},
        {&blas.set_stream, "cublasSetStream_v2"},
        {&blas.dgemm, "cublasDgemm_v2"},
        {&blas.dgemm_strided_batched, "cublasDgemmStridedBatched"},
        {&blas.status_name, "cublasGetStatusName"},
        {&blas.status_string, "cublasGetStatusString"},
    };
    cuda_library_load(FILE_OF("cublas", CUBLAS_VER_MAJOR), NEED_ABOVE(DENSE_SOLVE_LD, "cuBLAS"),
                      functions, sizeof functions / sizeof *functions, &blas_failure);
}

const struct cublas_library *cublas_library(struct error *error)
{
    pthread_once(&blas_once, load_blas);
    if (blas_failure.status == STATUS_OK)
        return &blas;
    error_set(error, blas_failure.status, "%s", blas_failure.message);
    return NULL;
}

static void load_solver(void)
{
    const struct library_function functions[] = {
        {&solver.create, "cusolverDnCreate"},
        {&solver.destroy, "cusolverDnDestroy"},
        {&solver.set_stream, "cusolverDnSetStream"},
        {&solver.dpotrf_room, "cusolverDnDpotrf_bufferSize"},
        {&solver.dpotrf, "cusolverDnDpotrf"},
        {&solver.dpotri_room, "cusolverDnDpotri_bufferSize"},
        {&solver.dpotri, "cusolverDnDpotri"},
        {&solver.dsyevd_room, "cusolverDnDsyevd_bufferSize"},
        {&solver.dsyevd, "cusolverDnDsyevd"},
    };
    cuda_library_load(FILE_OF("cusolver", CUSOLVER_VER_MAJOR),
                      NEED_ABOVE(DENSE_INVERSE_SMALL, "cuSOLVER"), functions,
                      sizeof functions / sizeof *functions, &solver_failure);
}

const struct cusolver_library *cusolver_library(struct error *error)
{
    pthread_once(&solver_once, load_solver);
    if (solver_failure.status == STATUS_OK)
        return &solver;
    error_set(error, solver_failure.status, "%s", solver_failure.message);
    return NULL;
}

/* Why a call to a library has failed: the GPU's error where the GPU is lost, which every later call
 * gets, too; otherwise STATUS_OK. */
static enum status gpu_status(bool call_failed, const char *what, struct error *error)
{
    return cuda_status(call_failed ? cudaFree(NULL) : cudaSuccess, what, error);
}

enum status cublas_status(cublasStatus_t code, const char *what, struct error *error)
{
    TRY(gpu_status(code != CUBLAS_STATUS_SUCCESS, what, error));
    if (code == CUBLAS_STATUS_SUCCESS)
        return STATUS_OK;
    if (code == CUBLAS_STATUS_ALLOC_FAILED)
        return error_set(error, STATUS_MEMORY, "%s: cuBLAS is out of memory", what);
    return error_set(error, STATUS_INTERNAL, "%s: cuBLAS answered %s: %s", what,
                     blas.status_name(code), blas.status_string(code));
}

enum status cusolver_status(cusolverStatus_t code, const char *what, struct error *error)
{
    TRY(gpu_status(code != CUSOLVER_STATUS_SUCCESS, what, error));
    if (code == CUSOLVER_STATUS_SUCCESS)
        return STATUS_OK;
    if (code == CUSOLVER_STATUS_ALLOC_FAILED)
        return error_set(error, STATUS_MEMORY, "%s: cuSOLVER is out of memory", what);
    return error_set(error, STATUS_INTERNAL, "%s: cuSOLVER answered status %d", what, (int)code);
}
