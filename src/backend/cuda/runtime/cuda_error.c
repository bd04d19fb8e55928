#include "backend/cuda/runtime/cuda_error.h"

enum status cuda_status(cudaError_t code, const char *what, struct error *error)
{
    if (code == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    if (code == cudaErrorMemoryAllocation)
        return error_set(error, STATUS_MEMORY, "%s: the GPU is out of memory", what);
    return error_set(error, STATUS_INTERNAL, "%s: the GPU answered %s: %s", what,
                     cudaGetErrorName(code), cudaGetErrorString(code));
}

enum status cublas_status(cublasStatus_t code, const char *what, struct error *error)
{
    if (code == CUBLAS_STATUS_SUCCESS)
        return STATUS_OK;
    if (code == CUBLAS_STATUS_ALLOC_FAILED)
        return error_set(error, STATUS_MEMORY, "%s: cuBLAS is out of memory", what);
    return error_set(error, STATUS_INTERNAL, "%s: cuBLAS answered %s: %s", what,
                     cublasGetStatusName(code), cublasGetStatusString(code));
}

enum status cusolver_status(cusolverStatus_t code, const char *what, struct error *error)
{
    if (code == CUSOLVER_STATUS_SUCCESS)
        return STATUS_OK;
    if (code == CUSOLVER_STATUS_ALLOC_FAILED)
        return error_set(error, STATUS_MEMORY, "%s: cuSOLVER is out of memory", what);
    return error_set(error, STATUS_INTERNAL, "%s: cuSOLVER answered status %d", what, (int)code);
}
