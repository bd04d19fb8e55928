#include "backend/cuda/runtime/cuda_library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/runtime/cuda_error.h"

#define CUDA_MAJOR (CUDART_VERSION / 1000)

enum status cuda_library_load(const char *file, const char *need,
                              const struct library_function *functions, size_t count,
                              struct error *error)
{
    char of_home[PATH_MAX] = "", remedy[128];
    const char *home = getenv("CUDA_HOME");
    const char *const folders[] = {of_home, "/usr/local/cuda/lib64", NULL};
    if (home && home[0])
        snprintf(of_home, sizeof of_home, "%s/lib64", home);
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

enum status cuda_library_gpu(bool call_failed, const char *what, struct error *error)
{
    return cuda_status(call_failed ? cudaFree(NULL) : cudaSuccess, what, error);
}
