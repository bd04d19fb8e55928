/* The functions of cuBLAS and cuSOLVER that blco calls (NVIDIA: cuBLAS, chapter "Using the cuBLAS
 * API"; cuSOLVER, chapter "cuSolverDN"), loaded when a rank first needs them (CUDA's runtime is
 * linked into the program). They have some hundred MB; loading them takes longer than decomposing a
 * small tensor. */
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <stddef.h>

#include "base/error.h"
#include "base/shared_library.h"

struct cublas_library {
    __typeof__(cublasCreate_v2) *create;
    __typeof__(cublasDestroy_v2) *destroy;
    __typeof__(cublasSetStream_v2) *set_stream;
    __typeof__(cublasDgemm_v2) *dgemm;
    __typeof__(cublasDgemmStridedBatched) *dgemm_strided_batched;
    __typeof__(cublasGetStatusName) *status_name;
    __typeof__(cublasGetStatusString) *status_string;
};

struct cusolver_library {
    __typeof__(cusolverDnCreate) *create;
    __typeof__(cusolverDnDestroy) *destroy;
    __typeof__(cusolverDnSetStream) *set_stream;
    __typeof__(cusolverDnDpotrf_bufferSize) *dpotrf_room;
    __typeof__(cusolverDnDpotrf) *dpotrf;
    __typeof__(cusolverDnDpotri_bufferSize) *dpotri_room;
    __typeof__(cusolverDnDpotri) *dpotri;
    __typeof__(cusolverDnDsyevd_bufferSize) *dsyevd_room;
    __typeof__(cusolverDnDsyevd) *dsyevd;
};

/* The functions of each library, loaded by the first call; for all threads, to the end of the
 * program. NULL with STATUS_INPUT where the library cannot be loaded. */
const struct cublas_library *cublas_library(struct error *error);
const struct cusolver_library *cusolver_library(struct error *error);

/* STATUS_OK on success, STATUS_MEMORY where memory ran out, otherwise STATUS_INTERNAL. `what` says
 * what was being done. The library is loaded. */
enum status cublas_status(cublasStatus_t code, const char *what, struct error *error);
enum status cusolver_status(cusolverStatus_t code, const char *what, struct error *error);

/* Loads `file` (libcublas.so.13) and sets `functions` (count). The loader's places come first, then
 * $CUDA_HOME/lib64 and /usr/local/cuda/lib64. `need` says who needs it: "a rank above 64 needs
 * cuBLAS". STATUS_INPUT where the library is in none of these places, or lacks a function. */
enum status cuda_library_load(const char *file, const char *need,
                              const struct library_function *functions, size_t count,
                              struct error *error);
