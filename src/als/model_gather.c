#include "als/model_gather.h"

#include <string.h>

#include "base/memory.h"

#define BYTES_AT_A_TIME (UINT64_C(64) << 20) /* of rows that a rank sends */

/* The rows of one mode on their way to rank 0, some at a time: numbers and rows. */
struct parcel {
    struct comm *comm;
    uint64_t rank;    /* R                                                              */
    uint64_t *number; /* (most): which rows of the whole                                 */
    double *rows;     /* (most x R)                                                      */
    uint64_t *send;   /* (ranks + 1), in bytes; so `receive`                             */
    uint64_t *receive;
    uint64_t most;
};

static void parcel_close(struct parcel *p)
{
    memory_free(p->number);
    memory_free(p->rows);
    memory_free(p->send);
    memory_free(p->receive);
}

static enum status parcel_open(struct parcel *p, struct comm *c, uint64_t rank, struct error *error)
{
    size_t ranks = (size_t)c->size + 1;
    *p = (struct parcel){
        .comm = c, .rank = rank, .most = BYTES_AT_A_TIME / (rank * sizeof(double)) + 1};
    p->number = memory_array(p->most, sizeof *p->number, error);
    p->rows = memory_array(p->most, rank * sizeof *p->rows, error);
    p->send = memory_array(ranks, sizeof *p->send, error);
    p->receive = memory_array(ranks, sizeof *p->receive, error);
    return error->status;
}

/* `bytes` from rank `from` to rank 0. */
static enum status move(struct parcel *p, int from, void *bytes, uint64_t count,
                        struct error *error)
{
    for (int k = 0; k <= p->comm->size; k++) {
        p->send[k] = k > 0 && p->comm->rank == from ? count : 0;
        p->receive[k] = k > from && p->comm->rank == 0 ? count : 0;
    }
    return comm_exchange(p->comm, bytes, p->send, bytes, p->receive, error);
}

/* Puts the rows of the parcel to their places in the whole matrix. */
static void put(const struct parcel *p, uint64_t count, double *factor)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
        if (p->number[i] != NO_ROW)
            memcpy(factor + p->number[i] * p->rank, p->rows + i * p->rank,
                   p->rank * sizeof *factor);
}

/* Fills the parcel with rows [at, at + count) of those that this rank has solved. */
static void take(struct parcel *p, const struct ktensor *part, const struct backend_rows *own,
                 int n, uint64_t at, uint64_t count)
{
    uint64_t first = own->first + at;
    for (uint64_t i = 0; i < count; i++)
        p->number[i] = part->row[n] ? part->row[n][first + i] : part->first[n] + first + i;
    memcpy(p->rows, part->factor[n] + first * p->rank, count * p->rank * sizeof *p->rows);
}

/* All that rank `from`, which has solved `rows` rows of mode n, sends. */
static enum status gather_from(struct parcel *p, int from, uint64_t rows,
                               const struct ktensor *part, const struct backend_ranks *r, int n,
                               double *factor, struct error *error)
{
    for (uint64_t at = 0; at < rows && error->status == STATUS_OK; at += p->most) {
        uint64_t count = rows - at < p->most ? rows - at : p->most;
        if (p->comm->rank == from)
            take(p, part, &r->mode[n], n, at, count);
        if (from > 0 &&
            (move(p, from, p->number, count * sizeof *p->number, error) != STATUS_OK ||
             move(p, from, p->rows, count * p->rank * sizeof *p->rows, error) != STATUS_OK))
            break;
        if (factor)
            put(p, count, factor);
    }
    return error->status;
}

static enum status gather_mode(struct parcel *p, uint64_t *rows, const struct ktensor *part,
                               const struct backend_ranks *r, int n, double *factor,
                               struct error *error)
{
    comm_gather_all(p->comm, &r->mode[n].count, sizeof *rows, rows, error);
    for (int from = 0; from < p->comm->size && error->status == STATUS_OK; from++)
        gather_from(p, from, rows[from], part, r, n, factor, error);
    return error->status;
}

enum status model_gather(struct ktensor *whole, const struct ktensor *part,
                         const struct backend_ranks *ranks, struct error *error)
{
    struct parcel parcel;
    uint64_t *rows = memory_array((size_t)ranks->all->size, sizeof *rows, error);
    *whole = (struct ktensor){0};
    if (parcel_open(&parcel, ranks->all, part->rank, error) == STATUS_OK && ranks->all->rank == 0 &&
        ktensor_create(whole, &ranks->part.whole, part->rank, error) == STATUS_OK)
        memcpy(whole->lambda, part->lambda, part->rank * sizeof *part->lambda);
    if (error->status != STATUS_OK)
        comm_abort(ranks->all, error);
    for (int n = 0; n < part->shape.order && error->status == STATUS_OK; n++)
        gather_mode(&parcel, rows, part, ranks, n, whole->factor[n], error);
    if (error->status != STATUS_OK)
        ktensor_free(whole);
    parcel_close(&parcel);
    memory_free(rows);
    return error->status;
}
