#include "comm/nccl/device_comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/memory.h"
#include "comm/nccl/nccl_library.h"

struct device_comm {
    const struct nccl_library *nccl;
    ncclComm_t comm;
    struct comm *host; /* borrowed */
    int device;
    int rank, size; /* of host, which the meeting may outlive */
    ncclUniqueId id;
    pthread_t meeting;  /* the thread in which this GPU meets the others           */
    atomic_bool met;    /* that thread has ended                                   */
    bool all_met;       /* the threads of all ranks have, with success             */
    struct error error; /* of the meeting                                          */
};

/* Before any rank waits within NCCL, which no abort of `host` would end, all have come so far. */
static enum status find_library(struct device_comm *d, struct comm *host, struct error *error)
{
    int failed = 0;
    d->nccl = nccl_library(error);
    if (!d->nccl)
        comm_abort(host, error);
    else
        comm_agree(host, &failed, error);
    return error->status;
}

static void *meet(void *argument)
{
    struct device_comm *d = argument;
    if (cudaSetDevice(d->device) != cudaSuccess)
        error_set(&d->error, STATUS_INTERNAL, "GPU %d does not answer", d->device);
    else
        nccl_status(d->nccl->ncclCommInitRank(&d->comm, d->size, d->id, d->rank), NULL,
                    "the GPUs' meeting", &d->error);
    atomic_store(&d->met, true);
    return NULL;
}

/* All ranks learn what they meet by, and begin. */
static enum status begin(struct device_comm *d, struct error *error)
{
    struct comm *host = d->host;
    if (host->rank == 0 && nccl_status(d->nccl->ncclGetUniqueId(&d->id), NULL, "the GPUs' meeting",
                                       error) != STATUS_OK)
        comm_abort(host, error);
    if (error->status == STATUS_OK &&
        comm_broadcast(host, 0, &d->id, sizeof d->id, error) == STATUS_OK &&
        pthread_create(&d->meeting, NULL, meet, d) != 0) {
        error_set(error, STATUS_MEMORY, "no thread for the GPUs' meeting");
        comm_abort(host, error);
    }
    return error->status;
}

enum status device_comm_open(struct device_comm **c, struct comm *host, int device,
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
    d->rank = host->rank;
    d->size = host->size;
    if (find_library(d, host, error) == STATUS_OK && begin(d, error) == STATUS_OK)
        *c = d;
    else
        memory_free(d);
    return error->status;
}

enum status device_comm_ready(struct device_comm *c, struct error *error)
{
    int failed = 0;
    while (!atomic_load(&c->met)) {
        if (comm_check(c->host, error) != STATUS_OK)
            return error->status;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    if (error_set(error, c->error.status, "%s", c->error.message) != STATUS_OK)
        comm_abort(c->host, error);
    else if (comm_agree(c->host, &failed, error) == STATUS_OK)
        c->all_met = true;
    return error->status;
}

void device_comm_abort(struct device_comm *c)
{
    if (c && c->all_met && c->comm)
        c->nccl->ncclCommAbort(c->comm);
    if (c)
        c->comm = NULL;
}

/* A GPU that others may still be meeting cannot go away: then the meeting is left as it is, with
 * the thread and *c, to the end of the process, which is near, for some rank has failed. */
void device_comm_close(struct device_comm *c)
{
    if (!c)
        return;
    if (!c->all_met) {
        pthread_detach(c->meeting);
        return;
    }
    pthread_join(c->meeting, NULL);
    if (c->comm)
        c->nccl->ncclCommDestroy(c->comm);
    memory_free(c);
}

static int type_of(enum precision precision)
{
    return precision == PRECISION_SINGLE ? NCCL_FLOAT : NCCL_DOUBLE;
}

enum status device_comm_reduce_scatter(struct device_comm *c, const struct device_slots *m,
                                       cudaStream_t stream, struct error *error)
{
    return nccl_status(c->nccl->ncclReduceScatter(m->numbers, m->own, m->slot,
                                                  type_of(m->precision), NCCL_SUM, c->comm, stream),
                       c->comm, "the sum of M", error);
}

enum status device_comm_all_gather(struct device_comm *c, const struct device_slots *a,
                                   cudaStream_t stream, struct error *error)
{
    return nccl_status(
        c->nccl->ncclAllGather(a->own, a->numbers, a->slot, type_of(a->precision), c->comm, stream),
        c->comm, "the rows of a factor", error);
}

enum status device_comm_sum(struct device_comm *c, const double *from, double *to, uint64_t count,
                            cudaStream_t stream, struct error *error)
{
    return nccl_status(
        c->nccl->ncclAllReduce(from, to, count, NCCL_DOUBLE, NCCL_SUM, c->comm, stream), c->comm,
        "the sum of Grams", error);
}

enum status device_comm_check(struct device_comm *c, struct error *error)
{
    ncclResult_t result = 0;
    enum status status = nccl_status(c->nccl->ncclCommGetAsyncError(c->comm, &result), c->comm,
                                     "the GPUs' meeting", error);
    return status == STATUS_OK ? nccl_status(result, c->comm, "the GPUs' meeting", error) : status;
}
