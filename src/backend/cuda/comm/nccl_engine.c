#include "backend/cuda/comm/device_engine.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/shared_library.h"

/* NCCL, NVIDIA's collective operations between GPUs, is loaded when several GPUs are asked for and
 * never before: a program without NCCL at hand builds and runs. What is declared here is the part
 * of NCCL's interface that blco uses, as every NCCL 2 has had it since version 2.4 (NCCL
 * documentation, "NCCL API"). */
typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef int ncclResult_t; /* 0: done */

enum { NCCL_CHAR = 0, NCCL_FLOAT = 7, NCCL_DOUBLE = 8 }; /* ncclDataType_t */
enum { NCCL_SUM = 0, NCCL_MAX = 2 };                     /* ncclRedOp_t    */

/* The functions of libnccl.so.2, loaded once for all threads, to the end of the program. */
static struct {
    ncclResult_t (*ncclGetUniqueId)(ncclUniqueId *id);
    ncclResult_t (*ncclCommInitRank)(ncclComm_t *comm, int size, ncclUniqueId id, int rank);
    ncclResult_t (*ncclCommDestroy)(ncclComm_t comm);
    ncclResult_t (*ncclCommAbort)(ncclComm_t comm);
    ncclResult_t (*ncclCommGetAsyncError)(ncclComm_t comm, ncclResult_t *error);
    ncclResult_t (*ncclReduceScatter)(const void *send, void *receive, size_t count, int type,
                                      int op, ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*ncclAllGather)(const void *send, void *receive, size_t count, int type,
                                  ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*ncclAllReduce)(const void *send, void *receive, size_t count, int type, int op,
                                  ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*ncclBroadcast)(const void *send, void *receive, size_t count, int type, int root,
                                  ncclComm_t comm, cudaStream_t stream);
    const char *(*ncclGetErrorString)(ncclResult_t result);
    const char *(*ncclGetLastError)(ncclComm_t comm);
} nccl;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct error failure; /* of loading them */

/* Unless the environment says otherwise, NVLink multicast (NVLS) stays off, since blco is tested
 * and measured without it; and GPUs connect when the communicator is made, not at their first
 * operation, which would wait within NCCL for a rank that has failed before. */
static void load(void)
{
    const struct library_function functions[] = {
        {&nccl.ncclGetUniqueId, "ncclGetUniqueId"},
        {&nccl.ncclCommInitRank, "ncclCommInitRank"},
        {&nccl.ncclCommDestroy, "ncclCommDestroy"},
        {&nccl.ncclCommAbort, "ncclCommAbort"},
        {&nccl.ncclCommGetAsyncError, "ncclCommGetAsyncError"},
        {&nccl.ncclReduceScatter, "ncclReduceScatter"},
        {&nccl.ncclAllGather, "ncclAllGather"},
        {&nccl.ncclAllReduce, "ncclAllReduce"},
        {&nccl.ncclBroadcast, "ncclBroadcast"},
        {&nccl.ncclGetErrorString, "ncclGetErrorString"},
        {&nccl.ncclGetLastError, "ncclGetLastError"},
    };
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    const struct shared_library description = {
        .file = "libnccl.so.2",
        .need = "these GPUs need NCCL",
        .remedy = "install libnccl2, or name its folder in LD_LIBRARY_PATH"};
    void *handle = shared_library_open(&description, &failure);
    if (!handle)
        return;
    const char *missing =
        shared_library_bind(handle, functions, sizeof functions / sizeof *functions);
    if (missing)
        error_set(&failure, STATUS_INPUT, "libnccl.so.2 has no %s: NCCL 2.18 or later is needed",
                  missing);
}

/* STATUS_OK, or STATUS_INTERNAL with NCCL's reason, "what: ...". comm may be NULL. */
static enum status nccl_status(ncclResult_t result, ncclComm_t comm, const char *what,
                               struct error *error)
{
    if (result == 0)
        return STATUS_OK;
    const char *detail = nccl.ncclGetLastError(comm);
    return error_set(error, STATUS_INTERNAL, "%s: NCCL: %s%s%s", what,
                     nccl.ncclGetErrorString(result), detail && *detail ? ": " : "",
                     detail ? detail : "");
}

/* A rank's end. */
struct nccl_end {
    int rank, size, device;
    ncclUniqueId id;
    ncclComm_t comm; /* NULL: not connected */
};

static enum status open_end(void *state, const struct device_places *places, struct error *error)
{
    struct comm *host = places->host;
    struct nccl_end *e = state;
    *e = (struct nccl_end){
        .rank = host->rank, .size = host->size, .device = places->device[host->rank]};
    /* All ranks load the library before any rank waits within NCCL, where no abort of `host` could
     * end the wait. */
    pthread_once(&once, load);
    if (failure.status != STATUS_OK)
        error_set(error, failure.status, "%s", failure.message);
    TRY(comm_allreduce_error(host, error));
    /* Rank 0 makes the id by which the GPUs connect, and sends it to all. */
    if (host->rank == 0)
        nccl_status(nccl.ncclGetUniqueId(&e->id), NULL, "connecting the GPUs", error);
    TRY(comm_allreduce_error(host, error));
    return comm_bcast(host, 0, &e->id, sizeof e->id, error);
}

static enum status connect_end(void *state, struct error *error)
{
    struct nccl_end *e = state;
    cudaSetDevice(e->device);
    return nccl_status(nccl.ncclCommInitRank(&e->comm, e->size, e->id, e->rank), NULL,
                       "connecting the GPUs", error);
}

static int type_of(enum precision precision)
{
    return precision == PRECISION_SINGLE ? NCCL_FLOAT : NCCL_DOUBLE;
}

static enum status reduce_scatter(void *state, const struct device_stripes *m, cudaStream_t stream,
                                  struct error *error)
{
    const struct nccl_end *e = state;
    return nccl_status(nccl.ncclReduceScatter(m->numbers, m->own, m->stripe, type_of(m->precision),
                                              NCCL_SUM, e->comm, stream),
                       e->comm, "the sum of M", error);
}

static enum status allgather(void *state, const struct device_stripes *a, cudaStream_t stream,
                             struct error *error)
{
    const struct nccl_end *e = state;
    return nccl_status(
        nccl.ncclAllGather(a->own, a->numbers, a->stripe, type_of(a->precision), e->comm, stream),
        e->comm, "the rows of a factor", error);
}

static enum status allreduce(void *state, const struct device_numbers *x, cudaStream_t stream,
                             struct error *error)
{
    const struct nccl_end *e = state;
    return nccl_status(nccl.ncclAllReduce(x->from, x->to, x->count, NCCL_DOUBLE,
                                          x->largest ? NCCL_MAX : NCCL_SUM, e->comm, stream),
                       e->comm, "numbers of all GPUs", error);
}

static enum status bcast(void *state, void *array, uint64_t bytes, int root, cudaStream_t stream,
                         struct error *error)
{
    const struct nccl_end *e = state;
    return nccl_status(nccl.ncclBroadcast(array, array, bytes, NCCL_CHAR, root, e->comm, stream),
                       e->comm, "arrays of one GPU", error);
}

static enum status check(void *state, struct error *error)
{
    const struct nccl_end *e = state;
    ncclResult_t result = 0;
    TRY(nccl_status(nccl.ncclCommGetAsyncError(e->comm, &result), e->comm, "connecting the GPUs",
                    error));
    return nccl_status(result, e->comm, "connecting the GPUs", error);
}

static void abort_end(void *state)
{
    const struct nccl_end *e = state;
    nccl.ncclCommAbort(e->comm);
}

/* A communicator stays to the end of the process unless every rank knows that all GPUs are
 * connected: another GPU may still be connecting, and would wait for ever. */
static void close_end(void *state, bool together, bool leaving)
{
    const struct nccl_end *e = state;
    if (together && !leaving)
        nccl.ncclCommDestroy(e->comm);
}

const struct device_engine nccl_engine = {.state_bytes = sizeof(struct nccl_end),
                                          .open = open_end,
                                          .connect = connect_end,
                                          .reduce_scatter = reduce_scatter,
                                          .allgather = allgather,
                                          .allreduce = allreduce,
                                          .bcast = bcast,
                                          .check = check,
                                          .abort = abort_end,
                                          .close = close_end};
