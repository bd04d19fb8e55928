#include "ranks/model_collect.h"

#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "plan/process_grid.h"

#define IN_FLIGHT (UINT64_C(64) << 20) /* bytes that rank 0 receives at a time        */
#define BLOCK     UINT64_C(4096)       /* rows that a thread copies at a time          */

/* The numbers of a block's rows, in the whole matrix, are from `first` to end - 1: rows that are
 * not wanted need not be looked at one by one. */
struct model_block {
    uint64_t first, end;
};

/* What rank 0 asks for: rows first to first + count - 1 of factor matrix n. */
struct row_request {
    int n; /* -1: nothing more */
    uint64_t first, count;
    double *to; /* (count x R): where they go; rank 0's */
};

/* Cuts the rows of mode n that this rank brings into blocks. */
static void find_blocks(struct model_rows *m, int n, const struct rank_rows_stored *own)
{
    const uint64_t blocks = (own->count + BLOCK - 1) / BLOCK;
    m->mode = n;
#pragma omp parallel for schedule(static)
    for (uint64_t b = 0; b < blocks; b++) {
        struct model_block *block = &m->block[b];
        *block = (struct model_block){NO_ROW, 0};
        for (uint64_t i = b * BLOCK; i < least_of(own->count, (b + 1) * BLOCK); i++) {
            const uint64_t row = ktensor_row(m->part, n, own->first + i);
            block->first = least_of(block->first, row);
            block->end = row != NO_ROW && row >= block->end ? row + 1 : block->end;
        }
    }
}

enum status model_rows_open(struct model_rows *m, const struct ktensor *part,
                            const struct rank_rows *ranks, struct error *error)
{
    const size_t record = (part->rank + 1) * sizeof(double);
    const bool messages = !ranks->all->shares_memory, receives = ranks->all->rank == 0;
    uint64_t longest = 0, own = 0;
    *m = (struct model_rows){.part = part, .ranks = ranks, .mode = -1};
    for (int n = 0; n < part->shape.order; n++) {
        const uint64_t length = ranks->part.whole.dims[n];
        const uint64_t count = rank_rows_stored(ranks, n, true).count;
        longest = length > longest ? length : longest;
        own = count > own ? count : own;
    }
    m->block = memory_array(own / BLOCK + 1, sizeof *m->block, error);
    m->most = least_of(longest, IN_FLIGHT / record + 1);
    m->outgoing = memory_array(messages && !receives ? least_of(own, m->most) : 0, record, error);
    m->incoming = memory_array(messages && receives ? m->most : 0, record, error);
    m->count = memory_array((size_t)ranks->all->size, sizeof *m->count, error);
    return comm_allreduce_error(ranks->all, error);
}

void model_rows_close(struct model_rows *m)
{
    memory_free(m->block, m->outgoing, m->incoming, m->count);
    *m = (struct model_rows){0};
}

/* Copies the rows of the request that this rank brings to their places in `to` (count x R), or
 * where it is NULL to records in any order. Returns the number of records. */
static uint64_t copy_own(struct model_rows *m, const struct row_request *r, double *to)
{
    const struct ktensor *part = m->part;
    const struct rank_rows_stored own = rank_rows_stored(m->ranks, r->n, true);
    const uint64_t rank = part->rank, end = own.first + own.count;
    uint64_t records = 0;
    if (m->mode != r->n)
        find_blocks(m, r->n, &own);
#pragma omp parallel for schedule(dynamic, 8) /* those that are wanted lie together */
    for (uint64_t first = own.first; first < end; first += BLOCK) {
        const struct model_block *here = &m->block[(first - own.first) / BLOCK];
        const uint64_t last = least_of(end, first + BLOCK);
        uint64_t found = 0, k;
        if (here->end <= r->first || here->first >= r->first + r->count)
            continue;
        for (uint64_t i = first; i < last; i++)
            found += ktensor_row(part, r->n, i) - r->first < r->count;
#pragma omp atomic capture
        {
            k = records;
            records += found;
        }
        for (uint64_t i = first; i < last; i++) {
            const uint64_t row = ktensor_row(part, r->n, i);
            if (row - r->first >= r->count)
                continue;
            double *place = to ? to + (row - r->first) * rank : m->outgoing + k * (rank + 1);
            if (!to)
                memcpy(place++, &row, sizeof row);
            memcpy(place, part->factor[r->n] + i * rank, rank * sizeof *place);
            k++;
        }
    }
    return records;
}

/* All ranks send what they bring of the request, of m->most rows at most, to rank 0, which copies
 * its own unless they are there. */
static enum status send_rows(struct model_rows *m, const struct row_request *r, struct error *error)
{
    struct comm *c = m->ranks->all;
    const bool receives = c->rank == 0;
    const uint64_t rank = m->part->rank, record = (rank + 1) * sizeof(double);
    uint64_t own = 0, received = 0; /* by rank 0 */
    if (!receives)
        own = copy_own(m, r, NULL);
    else if (!m->stored)
        copy_own(m, r, r->to);
    TRY(comm_allgather(c, &own, sizeof own, m->count, error));
    for (int k = 0; k < c->size; k++) {
        c->sent[k] = (struct comm_parcel){(char *)m->outgoing, k == 0 ? own * record : 0};
        c->received[k] = (struct comm_parcel){(char *)m->incoming + received * record,
                                              receives ? m->count[k] * record : 0};
        received += m->count[k];
    }
    TRY(comm_exchange(c, error));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < (receives ? received : 0); i++) {
        uint64_t row;
        const double *from = m->incoming + i * (rank + 1);
        memcpy(&row, from, sizeof row);
        memcpy(r->to + (row - r->first) * rank, from + 1, rank * sizeof *from);
    }
    return STATUS_OK;
}

/* Every rank calls this with the request of rank 0. */
static enum status move_rows(struct model_rows *m, const struct row_request *r, struct error *error)
{
    if (m->ranks->all->shares_memory) {
        copy_own(m, r, r->to);
        return comm_allreduce_error(m->ranks->all, error); /* waits until the last rank is done */
    }
    for (uint64_t at = 0; at < r->count; at += m->most) {
        const struct row_request piece = {r->n, r->first + at, least_of(m->most, r->count - at),
                                          r->to ? r->to + at * m->part->rank : NULL};
        TRY(send_rows(m, &piece, error));
    }
    return STATUS_OK;
}

enum status model_rows_bring(void *rows, int n, uint64_t first, uint64_t count, double *to,
                             struct error *error)
{
    struct model_rows *m = rows;
    struct row_request r = {n, first, count, to};
    TRY(comm_bcast(m->ranks->all, 0, &r, sizeof r, error));
    return move_rows(m, &r, error);
}

enum status model_rows_end(struct model_rows *m, struct error *error)
{
    struct error failure = {0};
    struct row_request r = {.n = -1};
    while (comm_bcast(m->ranks->all, 0, &r, sizeof r, &failure) == STATUS_OK && r.n >= 0)
        if (move_rows(m, &r, &failure) != STATUS_OK)
            break;
    if (error->status == STATUS_OK)
        *error = failure;
    return error->status;
}

enum status model_whole_create(struct ktensor *whole, uint64_t rank, const struct rank_rows *ranks,
                               struct error *error)
{
    struct comm *c = ranks->all;
    struct part all = part_all(&ranks->part.whole);
    for (int n = 0; c->rank > 0 && n < all.whole.order; n++)
        all.here.dims[n] = 0;
    if (c->rank == 0 || !c->shares_memory)
        ktensor_create_part(whole, &all, rank, error);
    return comm_allreduce_error(c, error);
}

/* *whole gets the weights and shares of *part. Waits for all ranks. */
static enum status take_weights(struct ktensor *whole, const struct ktensor *part, struct comm *c,
                                struct error *error)
{
    if (c->rank == 0 || !c->shares_memory)
        memcpy(whole->lambda, part->lambda, 3 * part->rank * sizeof *part->lambda);
    return comm_allreduce_error(c, error);
}

/* Brings all rows of mode n into *whole, which rank 0 has. */
static enum status bring_all(struct model_rows *m, const struct ktensor *whole, int n,
                             struct error *error)
{
    const struct row_request r = {n, 0, m->ranks->part.whole.dims[n], whole->factor[n]};
    return move_rows(m, &r, error);
}

enum status model_whole_complete(struct ktensor *whole, const struct ktensor *part,
                                 const struct rank_rows *ranks, struct error *error)
{
    struct model_rows m = {0};
    if (ranks->all->shares_memory)
        return take_weights(whole, part, ranks->all, error);
    TRY_OR(done, model_rows_open(&m, part, ranks, error));
    m.stored = true;
    for (int n = 0; n < part->shape.order; n++)
        TRY_OR(done, bring_all(&m, whole, n, error));
    take_weights(whole, part, ranks->all, error);
done:
    model_rows_close(&m);
    return error->status;
}

enum status model_collect(struct ktensor *whole, struct ktensor *part,
                          const struct rank_rows *ranks, struct error *error)
{
    struct model_rows m = {0};
    if (ranks->all->size == 1) { /* all rows are here, in their order */
        *whole = *part;
        *part = (struct ktensor){0};
        return STATUS_OK;
    }
    TRY(model_whole_create(whole, part->rank, ranks, error));
    TRY_OR(done, model_rows_open(&m, part, ranks, error));
    for (int n = 0; n < part->shape.order; n++) {
        TRY_OR(done, bring_all(&m, whole, n, error));
        memory_free(part->factor[n]);
        part->factor[n] = NULL;
    }
    take_weights(whole, part, ranks->all, error);
done:
    model_rows_close(&m);
    return error->status;
}

/* Rank k merges the columns cut[k] to cut[k + 1] - 1 for all, so that no rank needs room for the
 * columns of all ranks. */
enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error)
{
    struct comm *c = comm;
    const uint64_t ranks = (uint64_t)c->size;
    uint64_t cut[MAX_RANKS + 1];
    if (ranks == 1)
        return STATUS_OK;
    for (uint64_t k = 0; k <= ranks; k++)
        cut[k] = count * k / ranks;
    struct column *merged = column + cut[c->rank];
    const uint64_t own = cut[c->rank + 1] - cut[c->rank];
    struct column *brought = memory_array(ranks * own, sizeof *brought, error);
    TRY(error->status);
    for (uint64_t k = 0; k < ranks; k++) {
        c->sent[k] =
            (struct comm_parcel){(char *)(column + cut[k]), (cut[k + 1] - cut[k]) * sizeof *column};
        c->received[k] = (struct comm_parcel){(char *)(brought + k * own), own * sizeof *column};
    }
    TRY_OR(done, comm_exchange(c, error));
    memory_copy(merged, brought, own * sizeof *brought);
    for (uint64_t k = 1; k < ranks; k++)
        for (uint64_t i = 0; i < own; i++)
            column_add(&merged[i], &brought[k * own + i]);
    comm_allgatherv(c, column, cut, sizeof *column, error);
done:
    memory_free(brought);
    return error->status;
}

enum status model_arrange_together(struct ktensor *part, const struct ktensor_rows *own,
                                   struct comm *c, struct error *error)
{
    if (ktensor_arrange_part(part, own, model_columns_together, c, error) != STATUS_OK)
        comm_abort(c, error);
    return error->status;
}
