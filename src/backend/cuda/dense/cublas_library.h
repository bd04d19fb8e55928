/* The functions of cuBLAS that blco calls (NVIDIA: cuBLAS, chapter "Using the cuBLAS API"). */
#ifndef BLCO_CUBLAS_LIBRARY_H
#define BLCO_CUBLAS_LIBRARY_H

#include <cublas_v2.h>

#include "base/error.h"

struct cublas_library {
    __typeof__(cublasCreate_v2) *create;
    __typeof__(cublasDestroy_v2) *destroy;
    __typeof__(cublasSetStream_v2) *set_stream;
    __typeof__(cublasDgemm_v2) *dgemm;
    __typeof__(cublasDgemmStridedBatched) *dgemm_strided_batched;
    __typeof__(cublasGetStatusName) *status_name;
    __typeof__(cublasGetStatusString) *status_string;
};

/* The functions, loaded by the first call; for all threads, to the end of the program. NULL with
 * STATUS_INPUT where cuBLAS cannot be loaded. */
const struct cublas_library *cublas_library(struct error *error);

/* STATUS_OK on success, STATUS_MEMORY where memory ran out, otherwise STATUS_INTERNAL. `what` says
 * what was being done. The library is loaded. */
enum status cublas_status(cublasStatus_t code, const char *what, struct error *error);

#endif
