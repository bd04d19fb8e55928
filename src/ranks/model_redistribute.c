#include "ranks/model_redistribute.h"

#include <string.h>

#include "base/memory.h"
#include "plan/row_cuts.h"
#include "ranks/share.h"

#define IN_FLIGHT (UINT64_C(64) << 20) /* bytes that a rank receives in a round, about */

/* The ranks send the rows of a mode in rounds. A message consists of records: the number of a row,
 * then the row. */
struct redistribution {
    struct comm *comm;
    bool evenly;
    uint64_t words;   /* of 8 bytes in a record: R + 1                                            */
    uint64_t most;    /* records that a rank sends in a round                                     */
    uint64_t *cut;    /* (ranks + 1): rank k gets the rows cut[k] to cut[k + 1] - 1               */
    uint64_t *place;  /* (most): the receiver of a row, then the place of its record; or NO_ROW   */
    double *outgoing; /* (most x words), sorted by receiver                                       */
    double *incoming; /* (ranks x most x words)                                                   */
    uint64_t *send_count, *receive_count; /* (ranks): records of a round                          */
    uint64_t *send, *receive;             /* (ranks + 1), in bytes                                */
};

static void redistribution_close(struct redistribution *s)
{
    memory_free(s->cut);
    memory_free(s->place);
    memory_free(s->outgoing);
    memory_free(s->incoming);
    memory_free(s->send_count);
    memory_free(s->receive_count);
    memory_free(s->send);
    memory_free(s->receive);
}

/* All ranks send as many records in a round, no more than the largest number of rows of a rank. */
static enum status agree_on_most(struct redistribution *s, const struct rank_rows *r,
                                 struct error *error)
{
    uint64_t limit = IN_FLIGHT / (s->words * sizeof(double)) / (uint64_t)s->comm->size + 1;
    uint64_t rows = 1;
    for (int n = 0; n < r->part.whole.order; n++)
        rows = r->mode[n].count > rows ? r->mode[n].count : rows;
    int most = (int)(rows < limit ? rows : limit);
    TRY(comm_allreduce_max(s->comm, &most, error));
    s->most = (uint64_t)most;
    return STATUS_OK;
}

static void allocate(struct redistribution *s, struct error *error)
{
    size_t ranks = (size_t)s->comm->size, record = s->words * sizeof(double);
    s->cut = memory_array(ranks + 1, sizeof *s->cut, error);
    s->place = memory_array(s->most, sizeof *s->place, error);
    s->outgoing = memory_array(s->most, record, error);
    s->incoming = memory_array(ranks * s->most, record, error);
    s->send_count = memory_array(ranks, sizeof *s->send_count, error);
    s->receive_count = memory_array(ranks, sizeof *s->receive_count, error);
    s->send = memory_zeros(ranks + 1, sizeof *s->send, error);
    s->receive = memory_zeros(ranks + 1, sizeof *s->receive, error);
}

/* The first row of mode n, of `length` rows, that belongs to rank k or a later one. */
static uint64_t first_row(uint64_t length, int k, int ranks, bool evenly)
{
    return evenly ? even_cut(length, k, ranks) : k == 0 ? 0 : length;
}

static void create_rows(struct ktensor *rows, const struct ktensor *part, const struct rank_rows *r,
                        bool evenly, struct error *error)
{
    struct part to = part_all(&r->part.whole);
    for (int n = 0; n < to.whole.order; n++) {
        uint64_t length = to.whole.dims[n];
        to.first[n] = first_row(length, r->all->rank, r->all->size, evenly);
        to.here.dims[n] = first_row(length, r->all->rank + 1, r->all->size, evenly) - to.first[n];
    }
    if (ktensor_create_part(rows, &to, part->rank, error) != STATUS_OK)
        return;
    memcpy(rows->lambda, part->lambda, part->rank * sizeof *part->lambda);
}

/* Finds the places of the records of this rank's rows [first, first + count), sorted by receiver,
 * and how many each receiver gets. */
static void sort_rows(struct redistribution *s, const struct ktensor *part, int n, uint64_t first,
                      uint64_t count)
{
    int size = s->comm->size;
    uint64_t ranks = (uint64_t)size, next = 0;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = ktensor_row(part, n, first + i);
        s->place[i] = row == NO_ROW ? NO_ROW : (uint64_t)row_cuts_range(s->cut, size, row);
    }
    memset(s->send_count, 0, ranks * sizeof *s->send_count);
    for (uint64_t i = 0; i < count; i++)
        if (s->place[i] != NO_ROW)
            s->send_count[s->place[i]]++;
    for (uint64_t k = 0; k < ranks; k++) {
        s->send[k] = next; /* for now the place of the receiver's next record */
        next += s->send_count[k];
    }
    for (uint64_t i = 0; i < count; i++)
        if (s->place[i] != NO_ROW)
            s->place[i] = s->send[s->place[i]]++;
}

static void pack(struct redistribution *s, const struct ktensor *part, int n, uint64_t first,
                 uint64_t count)
{
    sort_rows(s, part, n, first, count);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++) {
        if (s->place[i] == NO_ROW)
            continue;
        uint64_t number = ktensor_row(part, n, first + i);
        double *record = s->outgoing + s->place[i] * s->words;
        memcpy(record, &number, sizeof number);
        memcpy(record + 1, part->factor[n] + (first + i) * part->rank, part->rank * sizeof *record);
    }
}

static enum status exchange(struct redistribution *s, struct error *error)
{
    uint64_t record = s->words * sizeof(double);
    TRY(comm_alltoall(s->comm, s->send_count, s->receive_count, error));
    s->send[0] = 0;
    for (int k = 0; k < s->comm->size; k++) {
        s->send[k + 1] = s->send[k] + s->send_count[k] * record;
        s->receive[k + 1] = s->receive[k] + s->receive_count[k] * record;
    }
    return comm_alltoallv(s->comm, s->outgoing, s->send, s->incoming, s->receive, error);
}

static void unpack(const struct redistribution *s, struct ktensor *rows, int n)
{
    uint64_t count = s->receive[s->comm->size] / (s->words * sizeof(double));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number;
        const double *record = s->incoming + i * s->words;
        memcpy(&number, record, sizeof number);
        memcpy(rows->factor[n] + (number - rows->first[n]) * rows->rank, record + 1,
               rows->rank * sizeof *record);
    }
}

static enum status send_mode(struct redistribution *s, struct ktensor *rows,
                             const struct ktensor *part, const struct rank_rows *r, int n,
                             struct error *error)
{
    const struct mode_rows *own = &r->mode[n];
    int rounds = (int)((own->count + s->most - 1) / s->most);
    for (int k = 0; k <= s->comm->size; k++)
        s->cut[k] = first_row(r->part.whole.dims[n], k, s->comm->size, s->evenly);
    TRY(comm_allreduce_max(s->comm, &rounds, error));
    for (int round = 0; round < rounds; round++) {
        uint64_t at = (uint64_t)round * s->most, left = own->count > at ? own->count - at : 0;
        pack(s, part, n, own->first + at, left < s->most ? left : s->most);
        TRY(exchange(s, error));
        unpack(s, rows, n);
    }
    return STATUS_OK;
}

enum status model_redistribute(struct ktensor *rows, struct ktensor *part,
                               const struct rank_rows *ranks, bool evenly, struct error *error)
{
    struct redistribution s = {.comm = ranks->all, .evenly = evenly, .words = part->rank + 1};
    *rows = (struct ktensor){0};
    TRY_OR(done, agree_on_most(&s, ranks, error));
    allocate(&s, error);
    create_rows(rows, part, ranks, evenly, error);
    TRY_OR(done, comm_allreduce_error(s.comm, error));
    for (int n = 0; n < part->shape.order; n++) {
        TRY_OR(done, send_mode(&s, rows, part, ranks, n, error));
        memory_free(part->factor[n]);
        part->factor[n] = NULL;
    }
done:
    if (error->status != STATUS_OK)
        ktensor_free(rows);
    redistribution_close(&s);
    return error->status;
}

/* Copies the rows of mode n that this rank, and no other, has solved. */
static void copy_rows(struct ktensor *whole, const struct ktensor *part,
                      const struct mode_rows *own, int n)
{
    uint64_t rank = part->rank;
#pragma omp parallel for schedule(static)
    for (uint64_t i = own->first; i < own->first + own->count; i++) {
        uint64_t row = ktensor_row(part, n, i);
        if (row != NO_ROW)
            memcpy(whole->factor[n] + row * rank, part->factor[n] + i * rank,
                   rank * sizeof *whole->factor[n]);
    }
}

/* Whether the rows that the rank has are all rows, in their order. */
static bool is_whole(const struct ktensor *part, const struct shape *whole)
{
    for (int n = 0; n < whole->order; n++)
        if (part->row[n])
            return false;
    return shape_equal(&part->shape, whole);
}

enum status model_collect(struct ktensor *whole, struct ktensor *part,
                          const struct rank_rows *ranks, struct error *error)
{
    struct comm *c = ranks->all;
    if (c->size == 1 && is_whole(part, &ranks->part.whole)) {
        *whole = *part;
        *part = (struct ktensor){0};
        return STATUS_OK;
    }
    if (c->rank == 0 && ktensor_create(whole, &ranks->part.whole, part->rank, error) == STATUS_OK)
        memcpy(whole->lambda, part->lambda, part->rank * sizeof *part->lambda);
    TRY(comm_allreduce_error(c, error));
    for (int n = 0; n < part->shape.order; n++) {
        copy_rows(whole, part, &ranks->mode[n], n);
        memory_free(part->factor[n]);
        part->factor[n] = NULL;
    }
    return comm_allreduce_error(c, error); /* waits until the last rank is done */
}
