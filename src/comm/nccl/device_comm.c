#include "comm/nccl/device_comm.h"

#include <pthread.h>

#include "base/memory.h"
#include "comm/nccl/nccl_library.h"

struct device_comm {
    const struct nccl_library *nccl;
    struct comm *host; /* borrowed */
    int device;
    ncclUniqueId id;
    pthread_t thread; /* connects the GPUs, which takes half a second    */
    bool connecting;  /* the thread has not been joined                  */
    bool connected;   /* every rank knows that all GPUs are connected    */
    ncclResult_t result;
    ncclComm_t comm;
};

/* All ranks load the library before any rank waits within NCCL, where no abort of `host` could end
 * the wait. */
static enum status find_library(struct device_comm *d, struct error *error)
{
    d->nccl = nccl_library(error);
    return comm_allreduce_error(d->host, error);
}

/* Rank 0 makes the id by which the GPUs connect, and sends it to all. */
static enum status bcast_id(struct device_comm *d, struct error *error)
{
    if (d->host->rank == 0)
        nccl_status(d->nccl->ncclGetUniqueId(&d->id), NULL, "connecting the GPUs", error);
    if (comm_allreduce_error(d->host, error) != STATUS_OK)
        return error->status;
    return comm_bcast(d->host, 0, &d->id, sizeof d->id, error);
}

static void *connect_gpus(void *context)
{
    struct device_comm *d = context;
    cudaSetDevice(d->device);
    d->result = d->nccl->ncclCommInitRank(&d->comm, d->host->size, d->id, d->host->rank);
    return NULL;
}

/* From here on every rank connects, even if another step of it fails. */
static void begin(struct device_comm *d)
{
    d->connecting = pthread_create(&d->thread, NULL, connect_gpus, d) == 0;
    if (!d->connecting)
        connect_gpus(d);
}

enum status device_comm_init(struct device_comm **c, struct comm *host, int device,
                             struct error *error)
{
    struct device_comm *d = memory_zeros(1, sizeof *d, error);
    *c = NULL;
    if (!d) {
        comm_abort(host, error);
        return error->status;
    }
    d->host = host;
    d->device = device;
    if (find_library(d, error) != STATUS_OK)
        goto failed;
    if (bcast_id(d, error) != STATUS_OK)
        goto failed;
    begin(d);
    *c = d;
    return STATUS_OK;
failed:
    memory_free(d);
    return error->status;
}

static void join(struct device_comm *c)
{
    if (c->connecting)
        pthread_join(c->thread, NULL);
    c->connecting = false;
}

enum status device_comm_wait(struct device_comm *c, struct error *error)
{
    int failed = 0;
    if (c->connected)
        return STATUS_OK;
    join(c);
    if (nccl_status(c->result, NULL, "connecting the GPUs", error) != STATUS_OK) {
        comm_abort(c->host, error);
        return error->status;
    }
    if (comm_allreduce_max(c->host, &failed, error) != STATUS_OK)
        return error->status;
    c->connected = true;
    return STATUS_OK;
}

void device_comm_abort(struct device_comm *c)
{
    if (c && c->connected)
        c->nccl->ncclCommAbort(c->comm);
    if (c)
        c->connected = false;
}

void device_comm_leave(struct device_comm *c)
{
    if (c)
        join(c);
    memory_free(c);
}

/* A communicator stays to the end of the process unless every rank knows that all GPUs are
 * connected: another GPU may still be connecting, and would wait for ever. */
void device_comm_finalize(struct device_comm *c)
{
    if (c)
        join(c);
    if (c && c->connected)
        c->nccl->ncclCommDestroy(c->comm);
    memory_free(c);
}

static int type_of(enum precision precision)
{
    return precision == PRECISION_SINGLE ? NCCL_FLOAT : NCCL_DOUBLE;
}

enum status device_comm_reduce_scatter(struct device_comm *c, const struct device_stripes *m,
                                       cudaStream_t stream, struct error *error)
{
    return nccl_status(c->nccl->ncclReduceScatter(m->numbers, m->own, m->stripe,
                                                  type_of(m->precision), NCCL_SUM, c->comm, stream),
                       c->comm, "the sum of M", error);
}

enum status device_comm_allgather(struct device_comm *c, const struct device_stripes *a,
                                  cudaStream_t stream, struct error *error)
{
    return nccl_status(c->nccl->ncclAllGather(a->own, a->numbers, a->stripe, type_of(a->precision),
                                              c->comm, stream),
                       c->comm, "the rows of a factor", error);
}

enum status device_comm_allreduce_sum(struct device_comm *c, const double *from, double *to,
                                      uint64_t count, cudaStream_t stream, struct error *error)
{
    return nccl_status(
        c->nccl->ncclAllReduce(from, to, count, NCCL_DOUBLE, NCCL_SUM, c->comm, stream), c->comm,
        "the sum of Grams", error);
}

enum status device_comm_allreduce_max(struct device_comm *c, const double *from, double *to,
                                      uint64_t count, cudaStream_t stream, struct error *error)
{
    return nccl_status(
        c->nccl->ncclAllReduce(from, to, count, NCCL_DOUBLE, NCCL_MAX, c->comm, stream), c->comm,
        "the largest of numbers", error);
}

enum status device_comm_check(struct device_comm *c, struct error *error)
{
    ncclResult_t result = 0;
    if (nccl_status(c->nccl->ncclCommGetAsyncError(c->comm, &result), c->comm,
                    "connecting the GPUs", error) != STATUS_OK)
        return error->status;
    return nccl_status(result, c->comm, "connecting the GPUs", error);
}
