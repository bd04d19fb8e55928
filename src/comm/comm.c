#include "comm/comm.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

/* Books the seconds since `start`; returns `status`. */
static enum status book(struct comm *c, double start, enum status status)
{
    c->seconds += clock_now() - start;
    return status;
}

enum status comm_allreduce_sum(struct comm *c, double *x, uint64_t count, struct error *error)
{
    double start = clock_now();
    return book(c, start, c->engine->allreduce_sum(c, x, count, error));
}

enum status comm_allreduce_max(struct comm *c, int *value, struct error *error)
{
    double start = clock_now();
    return book(c, start, c->engine->allreduce_max(c, value, error));
}

enum status comm_bcast(struct comm *c, int root, void *bytes, size_t size, struct error *error)
{
    double start = clock_now();
    return book(c, start, c->engine->bcast(c, root, bytes, size, error));
}

enum status comm_reduce_scatter(struct comm *c, double *m, const struct comm_rows *rows,
                                struct error *error)
{
    double start = clock_now();
    return book(c, start, c->engine->reduce_scatter(c, m, rows, error));
}

enum status comm_allgatherv(struct comm *c, double *a, const struct comm_rows *rows,
                            struct error *error)
{
    double start = clock_now();
    return book(c, start, c->engine->allgatherv(c, a, rows, error));
}

enum status comm_alltoallv(struct comm *c, const void *send, const uint64_t *send_first,
                           void *receive, const uint64_t *receive_first, struct error *error)
{
    double start = clock_now();
    return book(c, start, c->engine->alltoallv(c, send, send_first, receive, receive_first, error));
}

/* first (ranks of c + 1): `size` bytes for each rank; the caller frees it. Aborts and returns NULL
 * where there is no memory. */
static uint64_t *even_parcels(struct comm *c, size_t size, struct error *error)
{
    uint64_t *first = memory_array((size_t)c->size + 1, sizeof *first, error);
    for (int k = 0; first && k <= c->size; k++)
        first[k] = (uint64_t)k * size;
    if (!first)
        comm_abort(c, error);
    return first;
}

enum status comm_alltoall(struct comm *c, const uint64_t *send, uint64_t *receive,
                          struct error *error)
{
    uint64_t *first = even_parcels(c, sizeof *send, error);
    if (!first)
        return error->status;
    comm_alltoallv(c, send, first, receive, first, error);
    memory_free(first);
    return error->status;
}

enum status comm_allgather(struct comm *c, const void *mine, size_t size, void *all,
                           struct error *error)
{
    size_t ranks = (size_t)c->size;
    uint64_t *first = even_parcels(c, size, error);
    if (!first)
        return error->status;
    char *copies = memory_array(ranks, size, error);
    if (!copies) {
        comm_abort(c, error);
        goto done;
    }
    for (size_t k = 0; k < ranks; k++)
        memcpy(copies + k * size, mine, size);
    comm_alltoallv(c, copies, first, all, first, error);
done:
    memory_free(first);
    memory_free(copies);
    return error->status;
}

enum status comm_check(struct comm *c, struct error *error)
{
    return c->engine->check(c, error);
}

enum status comm_split(struct comm *c, int color, struct comm **part, struct error *error)
{
    *part = NULL;
    return c->engine->split(c, color, part, error);
}

/* *first = the lowest rank that has failed, or the number of ranks. The lowest one gives the
 * largest number, so that one comm_allreduce_max finds it. */
static enum status find_failed(struct comm *c, const struct error *error, int *first,
                               struct error *trouble)
{
    int failed = error->status != STATUS_OK ? c->size - c->rank : 0;
    comm_allreduce_max(c, &failed, trouble);
    *first = c->size - failed;
    return trouble->status;
}

enum status comm_allreduce_error(struct comm *c, struct error *error)
{
    struct error trouble = {0}, theirs = *error;
    int first;
    if (find_failed(c, error, &first, &trouble) != STATUS_OK)
        return error_set(error, trouble.status, "%s", trouble.message);
    if (first == c->size)
        return STATUS_OK;
    if (comm_bcast(c, first, &theirs, sizeof theirs, &trouble) != STATUS_OK)
        return error_set(error, trouble.status, "%s", trouble.message);
    *error = theirs;
    return error->status;
}

enum status comm_end_phase(struct comm *c, struct error *error)
{
    struct error trouble = {0};
    int first, fine = error->status == STATUS_OK;
    if (find_failed(c, error, &first, &trouble) != STATUS_OK)
        return error_set(error, trouble.status, "%s", trouble.message);
    if (comm_allreduce_max(c, &fine, &trouble) != STATUS_OK)
        return error_set(error, trouble.status, "%s", trouble.message);
    if (comm_allreduce_error(c, error) != STATUS_OK && c->rank != first)
        error->message[0] = '\0';
    else if (error->status != STATUS_OK && fine)
        error_prefix(error, "rank %d: ", c->rank);
    return error->status;
}

void comm_abort(struct comm *c, const struct error *reason)
{
    c->engine->abort(c, reason);
}

void comm_finalize(struct comm *c)
{
    if (c)
        c->engine->finalize(c);
}

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
