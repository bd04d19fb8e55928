#include "ranks/nonzero_exchange.h"

#include <omp.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"

#define GIVE_BACK ((uint64_t)64 << 20) /* so many freed bytes go back to the system together */
#define IN_FLIGHT ((uint64_t)4 << 20)  /* nonzeros that all ranks together send in a round */

#define GATHERED_SHARE 4 /* of the free memory: what ranks may have twice while they gather */

/* Who gets which nonzeros: rank(context, sender, index) gets the one with these indices (order) of
 * rank `sender`. */
struct nonzero_receivers {
    int (*rank)(const void *context, int sender, const uint32_t *index);
    const void *context;
    struct part part; /* what this rank gets: indices count from its first rows */
};

/* The ranks exchange in rounds: in a round a rank sends a slice of a piece, array by array. */
struct exchange {
    struct share *share;
    const struct nonzero_receivers *to;
    struct comm *comm;
    struct coo *x;
    uint64_t most;    /* nonzeros of a slice                                              */
    int rounds;       /* rounds until all ranks have sent all                             */
    size_t piece;     /* the piece of the next slice                                      */
    uint64_t begin;   /* the slice's first nonzero in that piece                          */
    uint64_t freed;   /* freed bytes that the system does not have back                   */
    uint64_t *filled; /* (ranks) where in x the next nonzeros of each rank go             */
    uint64_t *send_count, *receive_count; /* (ranks) nonzeros of this round                */
    uint64_t *next;     /* (threads * ranks) where a thread's next nonzero for a rank goes  */
    uint16_t *receiver; /* (most) the rank that gets each nonzero of the slice              */
    uint32_t *place;    /* (most) its place among the slice's nonzeros, sorted by receiver   */
    void *send;         /* (most) numbers of 8 bytes                                        */
    int threads;
};

/* The nonzeros of a slice of a piece that begins at `begin`. */
static uint64_t slice_length(const struct exchange *e, const struct coo *piece, uint64_t begin)
{
    return piece->nnz - begin < e->most ? piece->nnz - begin : e->most;
}

/* Finds the receivers of the slice of a piece that begins at `begin`; next (threads * ranks) = how
 * many nonzeros of each thread's part of the slice go to each rank. */
static void find_receivers(struct exchange *e, const struct coo *piece, uint64_t begin)
{
    const uint64_t ranks = (uint64_t)e->comm->size, count = slice_length(e, piece, begin);
    memset(e->next, 0, ranks * (size_t)e->threads * sizeof *e->next);
#pragma omp parallel for schedule(static)
    for (int t = 0; t < e->threads; t++) {
        uint64_t *here = e->next + (uint64_t)t * ranks;
        uint64_t end = even_cut(count, t + 1, e->threads);
        for (uint64_t i = even_cut(count, t, e->threads); i < end; i++) {
            uint32_t index[MAX_ORDER];
            coo_coordinates(piece, begin + i, index);
            e->receiver[i] = (uint16_t)e->to->rank(e->to->context, e->comm->rank, index);
            here[e->receiver[i]]++;
        }
    }
}

/* Finds receiver and place of the nonzeros of the slice; those of a receiver keep their order. */
static void sort_slice(struct exchange *e, const struct coo *piece)
{
    const uint64_t ranks = (uint64_t)e->comm->size, count = slice_length(e, piece, e->begin);
    find_receivers(e, piece, e->begin);
    /* next[t * ranks + k] = where thread t's nonzeros for rank k begin, sorted by rank */
    uint64_t sum = 0;
    for (uint64_t k = 0; k < ranks; k++) {
        e->send_count[k] = sum;
        for (uint64_t t = 0; t < (uint64_t)e->threads; t++) {
            const uint64_t before = sum;
            sum += e->next[t * ranks + k];
            e->next[t * ranks + k] = before;
        }
        e->send_count[k] = sum - e->send_count[k];
    }
#pragma omp parallel for schedule(static)
    for (int t = 0; t < e->threads; t++) {
        uint64_t *next = e->next + (uint64_t)t * ranks;
        uint64_t end = even_cut(count, t + 1, e->threads);
        for (uint64_t i = even_cut(count, t, e->threads); i < end; i++)
            e->place[i] = (uint32_t)next[e->receiver[i]]++;
    }
}

/* Exchanges the numbers of one column of the slice. Those that this rank keeps go to x at once. */
static enum status exchange_column(struct exchange *e, const struct coo *piece, uint64_t count,
                                   int column, struct error *error)
{
    const size_t size = coo_column_bytes(column);
    const int me = e->comm->rank;
    char *from = e->send, *kept = coo_at(e->x, column, e->filled[me]);
    for (int k = 0; k < e->comm->size; k++) {
        e->comm->sent[k] = (struct comm_parcel){k == me ? kept : from, e->send_count[k] * size};
        e->comm->received[k] =
            (struct comm_parcel){coo_at(e->x, column, e->filled[k]), e->receive_count[k] * size};
        from += e->send_count[k] * size;
    }
    uint64_t before = 0; /* places of nonzeros for the ranks before this one */
    for (int k = 0; k < me; k++)
        before += e->send_count[k];
    const uint32_t *index = column < MAX_ORDER ? piece->index[column] : NULL;
    const double *values = piece->column[column];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++) {
        const bool keeps = e->receiver[i] == me;
        void *to = keeps ? kept : e->send;
        const uint64_t place = keeps ? e->place[i] - before : e->place[i];
        if (index)
            ((uint32_t *)to)[place] = index[e->begin + i];
        else
            ((double *)to)[place] = values[e->begin + i];
    }
    return comm_exchange(e->comm, error);
}

/* *at: where in x the nonzeros of dealt pieces go that come in this round. */
static enum status exchange_slice(struct exchange *e, uint64_t *at, struct error *error)
{
    static const struct coo nothing;
    struct share *s = e->share;
    const struct coo *piece = e->piece < s->pieces ? &s->piece[e->piece] : &nothing;
    const uint64_t count = slice_length(e, piece, e->begin);
    sort_slice(e, piece);
    TRY(comm_alltoall(e->comm, e->send_count, e->receive_count, error));
    for (int k = 0; s->dealt && k < e->comm->size; k++) {
        e->filled[k] = *at;
        *at += e->receive_count[k];
    }
    for (int column = 0; column < COO_COLUMNS; column++)
        if (e->x->column[column])
            TRY(exchange_column(e, piece, count, column, error));
    for (int k = 0; k < e->comm->size; k++)
        e->filled[k] += e->receive_count[k];
    e->begin += count;
    if (e->piece == s->pieces || e->begin < piece->nnz)
        return STATUS_OK;
    /* A piece that has been sent is freed, so that its memory can serve x. */
    e->freed += coo_bytes(s->shape.order, piece->nnz);
    share_free_piece(s, e->piece++);
    e->begin = 0;
    if (e->freed >= GIVE_BACK && !s->borrowed) {
        memory_give_back();
        e->freed = 0;
    }
    return STATUS_OK;
}

/* A thread's part of a piece: where its first nonzero for this rank goes in x. */
struct gathered {
    int sender;
    const struct coo *piece;
    uint64_t begin, end, at;
};

/* Copies the nonzeros of the part that this rank gets to x, if x is there, or counts them. */
static uint64_t gather_part(const struct nonzero_receivers *to, int me, const struct gathered *g,
                            struct coo *x)
{
    uint64_t count = 0;
    for (uint64_t i = g->begin; i < g->end; i++) {
        uint32_t index[MAX_ORDER];
        bool mine = true;
        for (int n = 0; n < g->piece->shape.order && mine; n++) {
            index[n] = g->piece->index[n][i];
            mine = index[n] - to->part.first[n] < to->part.here.dims[n];
        }
        if (!mine || to->rank(to->context, g->sender, index) != me)
            continue;
        if (x)
            coo_put(x, g->at + count, g->piece, i);
        count++;
    }
    return count;
}

/* Ranks that are threads of one process read each other's shares, which nobody changes meanwhile:
 * the nonzeros move once, to the places that an exchange would give them. */
static enum status gather(struct share *s, const struct nonzero_receivers *to, struct comm *c,
                          struct coo *x, struct error *error)
{
    const struct share *share[MAX_RANKS] = {NULL};
    const int threads = omp_get_max_threads();
    const struct shape shape = part_shape(&to->part);
    uint64_t parts = 0, nnz = 0;
    TRY(comm_allgather(c, &s, sizeof s, share, error));
    for (int k = 0; k < c->size; k++)
        parts += share[k]->pieces * (uint64_t)threads;
    struct gathered *part = memory_array(parts, sizeof *part, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    parts = 0;
    for (int k = 0; k < c->size; k++)
        for (size_t p = 0; p < share[k]->pieces; p++)
            for (int t = 0; t < threads; t++) {
                const struct coo *piece = &share[k]->piece[p];
                part[parts++] = (struct gathered){.sender = k,
                                                  .piece = piece,
                                                  .begin = even_cut(piece->nnz, t, threads),
                                                  .end = even_cut(piece->nnz, t + 1, threads)};
            }
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < parts; i++)
        part[i].at = gather_part(to, c->rank, &part[i], NULL);
    for (uint64_t i = 0; i < parts; i++) {
        const uint64_t count = part[i].at;
        part[i].at = nnz;
        nnz += count;
    }
    coo_create(x, &shape, nnz, error);
    TRY_OR(done, comm_allreduce_error(c, error));
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < parts; i++)
        gather_part(to, c->rank, &part[i], x);
    comm_allreduce_error(c, error); /* now each may free its share */
done:
    memory_free(part);
    return error->status;
}

static enum status exchange_in_rounds(struct share *s, const struct nonzero_receivers *to,
                                      struct comm *c, struct coo *x, struct error *error)
{
    const size_t ranks = (size_t)c->size;
    struct exchange e = {.share = s, .to = to, .comm = c, .x = x, .threads = omp_get_max_threads()};
    /* all ranks agree on the size of slices; dealt pieces are sent whole, one a round, so that
     * rounds keep their order */
    uint64_t at = 0, largest = 1, limit = IN_FLIGHT / ranks;
    for (size_t p = 0; p < s->pieces; p++)
        largest = s->piece[p].nnz > largest ? s->piece[p].nnz : largest;
    int most = (int)(s->dealt || largest < limit ? largest : limit);
    TRY(comm_allreduce_max(c, &most, error));
    e.most = (uint64_t)most;
    for (size_t p = 0; p < s->pieces; p++)
        e.rounds += s->piece[p].nnz > 0 ? (int)((s->piece[p].nnz + e.most - 1) / e.most) : 1;
    TRY(comm_allreduce_max(c, &e.rounds, error));
    const size_t counters = ranks * (size_t)e.threads;
    e.filled = memory_zeros(ranks, sizeof *e.filled, error);
    e.send_count = memory_zeros(ranks, sizeof *e.send_count, error);
    e.receive_count = memory_zeros(ranks, sizeof *e.receive_count, error);
    e.next = memory_array(counters, sizeof *e.next, error);
    e.receiver = memory_array(e.most, sizeof *e.receiver, error);
    e.place = memory_array(e.most, sizeof *e.place, error);
    e.send = memory_array(e.most, sizeof(double), error);
    TRY_OR(done, comm_allreduce_error(c, error));
    for (size_t p = 0; p < s->pieces; p++) /* counts what this rank sends in all rounds */
        for (uint64_t begin = 0; begin < s->piece[p].nnz; begin += e.most) {
            find_receivers(&e, &s->piece[p], begin);
            for (size_t i = 0; i < counters; i++)
                e.send_count[i % ranks] += e.next[i];
        }
    TRY_OR(done, comm_alltoall(c, e.send_count, e.receive_count, error));
    uint64_t nnz = 0; /* unless pieces were dealt, each rank's nonzeros have a range of x */
    const struct shape shape = part_shape(&to->part);
    for (size_t k = 0; k < ranks; k++) {
        e.filled[k] = nnz;
        nnz += e.receive_count[k];
    }
    coo_create(x, &shape, nnz, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    for (int round = 0; round < e.rounds; round++)
        TRY_OR(done, exchange_slice(&e, &at, error));
done:
    memory_free(e.filled, e.send_count, e.receive_count, e.next, e.receiver, e.place, e.send);
    return error->status;
}

static enum status exchange_by(struct share *s, const struct nonzero_receivers *to, struct comm *c,
                               struct coo *x, struct error *error)
{
    const uint64_t all = s->nnz * (uint64_t)c->size; /* about */
    int apart = !c->shares_memory || s->dealt ||
                coo_bytes(s->shape.order, all) > machine_memory_available() / GATHERED_SHARE;
    *x = (struct coo){0};
    TRY(comm_allreduce_max(c, &apart, error));
    TRY_OR(done, (apart ? exchange_in_rounds : gather)(s, to, c, x, error));
    for (int n = 0; n < x->shape.order; n++) {
        const uint32_t first = (uint32_t)to->part.first[n];
        if (first == 0)
            continue;
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++)
            x->index[n][i] -= first;
    }
done:
    if (error->status != STATUS_OK)
        coo_free(x);
    return error->status;
}

static int rank_of_grid(const void *grid, int sender, const uint32_t *index)
{
    (void)sender;
    return process_grid_rank(grid, index);
}

enum status nonzero_exchange(struct share *s, const struct process_grid *g, struct comm *c,
                             struct coo *x, struct error *error)
{
    const struct nonzero_receivers to = {rank_of_grid, g, process_grid_part(g, c->rank)};
    return exchange_by(s, &to, c, x, error);
}

struct solvers {
    const struct mode_rows *rows;
    int mode;
};

/* The rank that needs a nonzero: the one that solves its row, or the one that has it. */
static int rank_of(const void *context, int sender, const uint32_t *index)
{
    const struct solvers *s = context;
    const uint64_t row = index[s->mode];
    return mode_rows_is_common(s->rows, row) ? sender : (int)(row / s->rows->stripe);
}

enum status nonzero_exchange_mode(struct coo *taken, const struct rank_rows *r, int n,
                                  const struct coo *x, struct error *error)
{
    const struct solvers solvers = {&r->mode[n], n};
    const struct nonzero_receivers to = {
        .rank = rank_of, .context = &solvers, .part = part_all(&x->shape)};
    struct coo piece = *x;
    struct share share = {
        .shape = x->shape, .nnz = x->nnz, .piece = &piece, .pieces = 1, .borrowed = true};
    return exchange_by(&share, &to, r->all, taken, error);
}
