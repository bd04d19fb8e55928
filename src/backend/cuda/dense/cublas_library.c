#include "backend/cuda/dense/cublas_library.h"

#include <pthread.h>

#include "backend/cuda/runtime/cuda_library.h"
#include "kernels/dense/dense_apply.h"

#define TEXT(number)   #number
#define FILE_OF(major) "libcublas.so." TEXT(major)
#define NEED_ABOVE(ld) "on a GPU a rank above " TEXT(ld) " needs cuBLAS"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cublas_library library;
static struct error failure;

static void load(void)
{
    const struct library_function functions[] = {
        {&library.create, "cublasCreate_v2"},
        {&library.destroy, "cublasDestroy_v2"},
        {&library.set_stream, "cublasSetStream_v2"},
        {&library.dgemm, "cublasDgemm_v2"},
        {&library.dgemm_strided_batched, "cublasDgemmStridedBatched"},
        {&library.status_name, "cublasGetStatusName"},
        {&library.status_string, "cublasGetStatusString"},
    };
    cuda_library_load(FILE_OF(CUBLAS_VER_MAJOR), NEED_ABOVE(DENSE_SOLVE_LD), functions,
                      sizeof functions / sizeof *functions, &failure);
}

const struct cublas_library *cublas_library(struct error *error)
{
    pthread_once(&once, load);
    if (failure.status == STATUS_OK)
        return &library;
    error_set(error, failure.status, "%s", failure.message);
    return NULL;
}

enum status cublas_status(cublasStatus_t code, const char *what, struct error *error)
{
    TRY(cuda_library_gpu(code != CUBLAS_STATUS_SUCCESS, what, error));
    if (code == CUBLAS_STATUS_SUCCESS)
        return STATUS_OK;
    if (code == CUBLAS_STATUS_ALLOC_FAILED)
        return error_set(error, STATUS_MEMORY, "%s: cuBLAS is out of memory", what);
    return error_set(error, STATUS_INTERNAL, "%s: cuBLAS answered %s: %s", what,
                     library.status_name(code), library.status_string(code));
}
