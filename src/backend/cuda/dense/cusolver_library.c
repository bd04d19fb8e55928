#include "backend/cuda/dense/cusolver_library.h"

#include <pthread.h>

#include "backend/cuda/runtime/cuda_library.h"
#include "kernels/dense/dense_inverse.h"

#define TEXT(number)     #number
#define FILE_OF(major)   "libcusolver.so." TEXT(major)
#define NEED_ABOVE(rank) "on a GPU a rank above " TEXT(rank) " needs cuSOLVER"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cusolver_library library;
static struct error failure;

static void load(void)
{
    const struct library_function functions[] = {
        {&library.create, "cusolverDnCreate"},
        {&library.destroy, "cusolverDnDestroy"},
        {&library.set_stream, "cusolverDnSetStream"},
        {&library.dpotrf_room, "cusolverDnDpotrf_bufferSize"},
        {&library.dpotrf, "cusolverDnDpotrf"},
        {&library.dpotri_room, "cusolverDnDpotri_bufferSize"},
        {&library.dpotri, "cusolverDnDpotri"},
        {&library.dsyevd_room, "cusolverDnDsyevd_bufferSize"},
        {&library.dsyevd, "cusolverDnDsyevd"},
    };
    cuda_library_load(FILE_OF(CUSOLVER_VER_MAJOR), NEED_ABOVE(DENSE_INVERSE_SMALL), functions,
                      sizeof functions / sizeof *functions, &failure);
}

const struct cusolver_library *cusolver_library(struct error *error)
{
    pthread_once(&once, load);
    if (failure.status == STATUS_OK)
        return &library;
    error_set(error, failure.status, "%s", failure.message);
    return NULL;
}

enum status cusolver_status(cusolverStatus_t code, const char *what, struct error *error)
{
    TRY(cuda_library_gpu(code != CUSOLVER_STATUS_SUCCESS, what, error));
    if (code == CUSOLVER_STATUS_SUCCESS)
        return STATUS_OK;
    if (code == CUSOLVER_STATUS_ALLOC_FAILED)
        return error_set(error, STATUS_MEMORY, "%s: cuSOLVER is out of memory", what);
    return error_set(error, STATUS_INTERNAL, "%s: cuSOLVER answered status %d", what, (int)code);
}
