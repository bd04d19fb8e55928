#include "comm/nccl/device_comm.h"

#include "base/memory.h"
#include "comm/nccl/nccl_library.h"

struct device_comm {
    const struct nccl_library *nccl;
    ncclComm_t comm;
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

/* All ranks learn what their GPUs meet by. */
static enum status share_id(struct device_comm *d, struct comm *host, ncclUniqueId *id,
                            struct error *error)
{
    if (host->rank == 0 &&
        nccl_status(d->nccl->ncclGetUniqueId(id), NULL, "the GPUs' meeting", error) != STATUS_OK) {
        comm_abort(host, error);
        return error->status;
    }
    return comm_broadcast(host, 0, id, sizeof *id, error);
}

/* The GPUs meet. A rank that fails as soon as its GPU has met the others does not end NCCL's
 * communicator while another GPU may still be meeting, which would wait for ever: so all ranks wait
 * for each other, and where that fails, the communicator stays to the end of the process. */
static enum status meet(struct device_comm *d, struct comm *host, struct error *error)
{
    ncclUniqueId id = {{0}};
    int failed = 0;
    if (share_id(d, host, &id, error) != STATUS_OK)
        return error->status;
    if (nccl_status(d->nccl->ncclCommInitRank(&d->comm, host->size, id, host->rank), NULL,
                    "the GPUs' meeting", error) != STATUS_OK) {
        comm_abort(host, error);
        return error->status;
    }
    return comm_agree(host, &failed, error);
}

enum status device_comm_open(struct device_comm **c, struct comm *host, struct error *error)
{
    struct device_comm *d = memory_zeros(1, sizeof *d, error);
    *c = NULL;
    if (!d)
        comm_abort(host, error);
    else if (find_library(d, host, error) == STATUS_OK && meet(d, host, error) == STATUS_OK)
        *c = d;
    else
        memory_free(d);
    return error->status;
}

void device_comm_abort(struct device_comm *c)
{
    if (c && c->comm)
        c->nccl->ncclCommAbort(c->comm);
    if (c)
        c->comm = NULL;
}

void device_comm_close(struct device_comm *c)
{
    if (c && c->comm)
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

enum status device_comm_all_gather(struct device_comm *c, const struct device_stripes *a,
                                   cudaStream_t stream, struct error *error)
{
    return nccl_status(c->nccl->ncclAllGather(a->own, a->numbers, a->stripe, type_of(a->precision),
                                              c->comm, stream),
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
