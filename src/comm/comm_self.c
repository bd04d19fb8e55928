#include <string.h>

#include "base/memory.h"
#include "comm/comm.h"

/* With one rank an operation leaves every array as it is; an exchange is a copy. */

static enum status allreduce_sum(struct comm *c, double *x, uint64_t count, struct error *error)
{
    (void)c, (void)x, (void)count, (void)error;
    return STATUS_OK;
}

static enum status allreduce_max(struct comm *c, int *value, struct error *error)
{
    (void)c, (void)value, (void)error;
    return STATUS_OK;
}

static enum status bcast(struct comm *c, int root, void *bytes, size_t size, struct error *error)
{
    (void)c, (void)root, (void)bytes, (void)size, (void)error;
    return STATUS_OK;
}

static enum status rows_stay(struct comm *c, double *m, const struct comm_rows *rows,
                             struct error *error)
{
    (void)c, (void)m, (void)rows, (void)error;
    return STATUS_OK;
}

static enum status alltoallv(struct comm *c, const void *send, const uint64_t *send_first,
                             void *receive, const uint64_t *receive_first, struct error *error)
{
    (void)c, (void)receive_first, (void)error;
    if (send_first[1] > 0)
        memcpy(receive, send, send_first[1]);
    return STATUS_OK;
}

static enum status check(struct comm *c, struct error *error)
{
    (void)c, (void)error;
    return STATUS_OK;
}

static enum status split(struct comm *c, int color, struct comm **part, struct error *error)
{
    (void)c, (void)color;
    *part = comm_self(error);
    return error->status;
}

/* No other rank waits. */
static void abort_none(struct comm *c, const struct error *reason)
{
    (void)c, (void)reason;
}

static void finalize_self(struct comm *c)
{
    memory_free(c);
}

static const struct comm_engine engine = {.allreduce_sum = allreduce_sum,
                                          .allreduce_max = allreduce_max,
                                          .bcast = bcast,
                                          .reduce_scatter = rows_stay,
                                          .allgatherv = rows_stay,
                                          .alltoallv = alltoallv,
                                          .check = check,
                                          .split = split,
                                          .abort = abort_none,
                                          .finalize = finalize_self};

struct comm *comm_self(struct error *error)
{
    struct comm *c = memory_zeros(1, sizeof *c, error);
    if (c)
        *c = (struct comm){.engine = &engine, .size = 1, .local_size = 1, .shares_memory = true};
    return c;
}
