#include "backend/cuda/comm/nccl_library.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/shared_library.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct nccl_library library;
static struct error failure;

static void find_functions(void *handle)
{
    const struct library_function functions[] = {
        {&library.ncclGetUniqueId, "ncclGetUniqueId"},
        {&library.ncclCommInitRank, "ncclCommInitRank"},
        {&library.ncclCommDestroy, "ncclCommDestroy"},
        {&library.ncclCommAbort, "ncclCommAbort"},
        {&library.ncclCommGetAsyncError, "ncclCommGetAsyncError"},
        {&library.ncclReduceScatter, "ncclReduceScatter"},
        {&library.ncclAllGather, "ncclAllGather"},
        {&library.ncclAllReduce, "ncclAllReduce"},
        {&library.ncclGetErrorString, "ncclGetErrorString"},
        {&library.ncclGetLastError, "ncclGetLastError"},
    };
    const char *missing =
        shared_library_bind(handle, functions, sizeof functions / sizeof *functions);
    if (missing)
        error_set(&failure, STATUS_INPUT, "libnccl.so.2 has no %s: NCCL 2.18 or later is needed",
                  missing);
}

/* Unless the environment says otherwise, NVLink multicast (NVLS) stays off, since blco is tested
 * and measured without it; and GPUs connect when the communicator is made, not at their first
 * operation, which would wait within NCCL for a rank that has failed before. */
static void load(void)
{
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    const struct shared_library nccl = {
        .file = "libnccl.so.2",
        .need = "these GPUs need NCCL",
        .remedy = "install libnccl2, or name its folder in LD_LIBRARY_PATH"};
    void *handle = shared_library_open(&nccl, &failure);
    if (handle)
        find_functions(handle);
}

const struct nccl_library *nccl_library(struct error *error)
{
    pthread_once(&once, load);
    if (failure.status == STATUS_OK)
        return &library;
    error_set(error, failure.status, "%s", failure.message);
    return NULL;
}

enum status nccl_status(ncclResult_t result, ncclComm_t comm, const char *what, struct error *error)
{
    if (result == 0)
        return STATUS_OK;
    const char *detail = library.ncclGetLastError(comm);
    return error_set(error, STATUS_INTERNAL, "%s: NCCL: %s%s%s", what,
                     library.ncclGetErrorString(result), detail && *detail ? ": " : "",
                     detail ? detail : "");
}
