#include "comm/comm.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"

#define COUNTS (UINT64_C(8) << 20) /* counts that are summed at a time */

/* Books the seconds since `start`; returns `status`. */
static enum status book(struct comm *c, double start, enum status status)
{
    c->seconds += clock_now() - start;
    return status;
}

enum status comm_reduce_scatter(struct comm *c, double *m, const struct comm_rows *rows,
                                struct error *error)
{
    double start = clock_now();
    return book(c, start, c->engine->reduce_scatter(c, m, rows, error));
}

enum status comm_exchange(struct comm *c, struct error *error)
{
    const struct comm_parcel *from = &c->sent[c->rank], *to = &c->received[c->rank];
    double start = clock_now();
    if (to->bytes != from->bytes)
        memory_copy(to->bytes, from->bytes, from->size);
    return book(c, start, c->engine->exchange(c, error));
}

enum status comm_allgatherv(struct comm *c, void *a, const uint64_t *first, size_t row,
                            struct error *error)
{
    for (int k = 0; k < c->size; k++)
        c->received[k] =
            (struct comm_parcel){(char *)a + first[k] * row, (first[k + 1] - first[k]) * row};
    for (int k = 0; k < c->size; k++)
        c->sent[k] = c->received[c->rank];
    return comm_exchange(c, error);
}

/* Each rank adds a part of x up and sends the part to all. */
enum status comm_allreduce_sum(struct comm *c, double *x, uint64_t count, struct error *error)
{
    const struct comm_rows rows = {c->even, 1};
    for (int k = 0; k <= c->size; k++)
        c->even[k] = even_cut(count, k, c->size);
    TRY(comm_reduce_scatter(c, x, &rows, error));
    return comm_allgatherv(c, x, c->even, sizeof *x, error);
}

enum status comm_allreduce_counts(struct comm *c, uint64_t *x, uint64_t count, struct error *error)
{
    double *sum = memory_array(least_of(count, COUNTS), sizeof *sum, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    for (uint64_t first = 0; first < count; first += COUNTS) {
        const uint64_t length = least_of(count - first, COUNTS);
#pragma omp parallel for schedule(static) if (length > 4096)
        for (uint64_t i = 0; i < length; i++)
            sum[i] = (double)x[first + i];
        TRY_OR(done, comm_allreduce_sum(c, sum, length, error));
#pragma omp parallel for schedule(static) if (length > 4096)
        for (uint64_t i = 0; i < length; i++)
            x[first + i] = (uint64_t)sum[i];
    }
done:
    memory_free(sum);
    return error->status;
}

enum status comm_alltoall(struct comm *c, const uint64_t *send, uint64_t *receive,
                          struct error *error)
{
    for (int k = 0; k < c->size; k++) {
        c->sent[k] = (struct comm_parcel){(char *)(uintptr_t)(send + k), sizeof *send};
        c->received[k] = (struct comm_parcel){(char *)(receive + k), sizeof *receive};
    }
    return comm_exchange(c, error);
}

enum status comm_allgather(struct comm *c, const void *mine, size_t size, void *all,
                           struct error *error)
{
    for (int k = 0; k < c->size; k++) {
        c->sent[k] = (struct comm_parcel){(char *)(uintptr_t)mine, size};
        c->received[k] = (struct comm_parcel){(char *)all + (size_t)k * size, size};
    }
    return comm_exchange(c, error);
}

enum status comm_allreduce_max(struct comm *c, int *value, struct error *error)
{
    TRY(comm_allgather(c, value, sizeof *value, c->value, error));
    for (int k = 0; k < c->size; k++)
        *value = c->value[k] > *value ? c->value[k] : *value;
    return STATUS_OK;
}

enum status comm_bcast(struct comm *c, int root, void *bytes, size_t size, struct error *error)
{
    for (int k = 0; k < c->size; k++) {
        c->sent[k] = (struct comm_parcel){bytes, c->rank == root ? size : 0};
        c->received[k] = (struct comm_parcel){bytes, k == root ? size : 0};
    }
    return comm_exchange(c, error);
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

enum status comm_allocate_shared(struct comm *c, size_t bytes, void **memory, struct error *error)
{
    *memory = NULL;
    return c->engine->allocate_shared(c, bytes, memory, error);
}

enum status comm_name_rank(int rank, bool several_hosts, struct error *error)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    return error_prefix(error, several_hosts ? "rank %d on host %s: " : "rank %d: ", rank, host);
}

/* *error becomes that of the lowest rank that has failed, *first, on all ranks. The rank is named
 * if the others have not all failed, too: where `names`, or else if ranks are on several hosts, for
 * a file that is missing on one host may be there on another. */
static enum status exchange_error(struct comm *c, bool names, int *first, struct error *error)
{
    const bool several_hosts = c->local_size < c->size;
    struct error trouble = {0}, theirs = *error;
    int fine = error->status == STATUS_OK;
    int failed = fine ? 0 : c->size - c->rank; /* the lowest rank gives the largest number */
    if (comm_allreduce_max(c, &failed, &trouble) != STATUS_OK)
        return error_set(error, trouble.status, "%s", trouble.message);
    *first = c->size - failed;
    if (failed == 0)
        return STATUS_OK;
    comm_allreduce_max(c, &fine, &trouble);
    if (fine && (names || several_hosts))
        comm_name_rank(c->rank, several_hosts, &theirs);
    if (trouble.status != STATUS_OK ||
        comm_bcast(c, *first, &theirs, sizeof theirs, &trouble) != STATUS_OK)
        return error_set(error, trouble.status, "%s", trouble.message);
    *error = theirs;
    return error->status;
}

enum status comm_allreduce_error(struct comm *c, struct error *error)
{
    int first;
    return exchange_error(c, false, &first, error);
}

enum status comm_end_phase(struct comm *c, struct error *error)
{
    int first;
    if (exchange_error(c, true, &first, error) != STATUS_OK && c->rank != first)
        error->message[0] = '\0';
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

enum status comm_create_arrays(struct comm *c, struct error *error)
{
    const size_t size = (size_t)c->size;
    c->sent = memory_zeros(size, sizeof *c->sent, error);
    c->received = memory_zeros(size, sizeof *c->received, error);
    c->even = memory_zeros(size + 1, sizeof *c->even, error);
    c->value = memory_zeros(size, sizeof *c->value, error);
    return error->status;
}

void comm_free_arrays(struct comm *c)
{
    memory_free(c->sent, c->received, c->even, c->value);
}
