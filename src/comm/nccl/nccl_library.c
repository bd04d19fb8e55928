#include "comm/nccl/nccl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct nccl_library library;
static struct error failure;

/* Where a function goes, and its name. */
struct symbol {
    void *function; /* the address of a member of `library` */
    const char *name;
};

static void find_symbols(void *handle)
{
    const struct symbol symbols[] = {
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
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *(void **)symbols[i].function = dlsym(handle, symbols[i].name);
        if (!*(void **)symbols[i].function)
            error_set(&failure, STATUS_INPUT,
                      "libnccl.so.2 has no %s: NCCL 2.18 or later is needed for several GPUs",
                      symbols[i].name);
    }
}

/* Unless the environment says otherwise: NVLink multicast (NVLS) stays off, since blco is tested
 * and measured without; and GPUs connect when they meet, not at their first operation, which would
 * wait within NCCL for a rank that fails before. */
static void load(void)
{
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle)
        find_symbols(handle);
    else
        error_set(&failure, STATUS_INPUT,
                  "several GPUs need NCCL, which cannot be loaded (%s): install libnccl2, or name "
                  "its folder in LD_LIBRARY_PATH",
                  dlerror());
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
