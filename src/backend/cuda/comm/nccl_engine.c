#include "backend/cuda/comm/nccl_engine.h"

#include "backend/cuda/comm/nccl_library.h"

/* A rank's end. */
struct nccl_end {
    const struct nccl_library *nccl;
    int rank, size, device;
    ncclUniqueId id;
    ncclComm_t comm; /* NULL: not connected */
};

/* All ranks load the library before any rank waits within NCCL, where no abort of `host` could end
 * the wait. */
static enum status find_library(struct nccl_end *e, struct comm *host, struct error *error)
{
    e->nccl = nccl_library(error);
    return comm_allreduce_error(host, error);
}

/* Rank 0 makes the id by which the GPUs connect, and sends it to all. */
static enum status bcast_id(struct nccl_end *e, struct comm *host, struct error *error)
{
    if (host->rank == 0)
        nccl_status(e->nccl->ncclGetUniqueId(&e->id), NULL, "connecting the GPUs", error);
    TRY(comm_allreduce_error(host, error));
    return comm_bcast(host, 0, &e->id, sizeof e->id, error);
}

static enum status open_end(void *state, const struct device_places *places, struct error *error)
{
    struct comm *host = places->host;
    struct nccl_end *e = state;
    *e = (struct nccl_end){
        .rank = host->rank, .size = host->size, .device = places->device[host->rank]};
    TRY(find_library(e, host, error));
    return bcast_id(e, host, error);
}

static enum status connect_end(void *state, struct error *error)
{
    struct nccl_end *e = state;
    cudaSetDevice(e->device);
    return nccl_status(e->nccl->ncclCommInitRank(&e->comm, e->size, e->id, e->rank), NULL,
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
    return nccl_status(e->nccl->ncclReduceScatter(m->numbers, m->own, m->stripe,
                                                  type_of(m->precision), NCCL_SUM, e->comm, stream),
                       e->comm, "the sum of M", error);
}

static enum status allgather(void *state, const struct device_stripes *a, cudaStream_t stream,
                             struct error *error)
{
    const struct nccl_end *e = state;
    return nccl_status(e->nccl->ncclAllGather(a->own, a->numbers, a->stripe, type_of(a->precision),
                                              e->comm, stream),
                       e->comm, "the rows of a factor", error);
}

static enum status allreduce(void *state, const struct device_numbers *x, cudaStream_t stream,
                             struct error *error)
{
    const struct nccl_end *e = state;
    return nccl_status(e->nccl->ncclAllReduce(x->from, x->to, x->count, NCCL_DOUBLE,
                                              x->largest ? NCCL_MAX : NCCL_SUM, e->comm, stream),
                       e->comm, "numbers of all GPUs", error);
}

static enum status check(void *state, struct error *error)
{
    const struct nccl_end *e = state;
    ncclResult_t result = 0;
    TRY(nccl_status(e->nccl->ncclCommGetAsyncError(e->comm, &result), e->comm,
                    "connecting the GPUs", error));
    return nccl_status(result, e->comm, "connecting the GPUs", error);
}

static void abort_end(void *state)
{
    const struct nccl_end *e = state;
    e->nccl->ncclCommAbort(e->comm);
}

/* A communicator stays to the end of the process unless every rank knows that all GPUs are
 * connected: another GPU may still be connecting, and would wait for ever. */
static void close_end(void *state, bool connected, bool leaving)
{
    const struct nccl_end *e = state;
    if (connected && !leaving)
        e->nccl->ncclCommDestroy(e->comm);
}

const struct device_engine nccl_engine = {.state_bytes = sizeof(struct nccl_end),
                                          .open = open_end,
                                          .connect = connect_end,
                                          .reduce_scatter = reduce_scatter,
                                          .allgather = allgather,
                                          .allreduce = allreduce,
                                          .check = check,
                                          .abort = abort_end,
                                          .close = close_end};
