#include "ranks/rank_rows.h"

#include <string.h>

#include "base/least.h"
#include "base/memory.h"

#define ROW_COMMON -1
#define PARTS      64 /* of the rows of a range, whatever the number of threads */

/* Which rows of a range are common: several ranks touch them (have nonzeros there). Each other row
 * has one owner. */
struct row_owners {
    int16_t *owner;             /* (rows of the range): ROW_COMMON or the row's owner; owned     */
    uint64_t common[PARTS + 1]; /* rows before each part, and before the end, that are common    */
    uint64_t own[PARTS + 1];    /* ... and that this rank owns                                   */
    bool pays; /* so few rows are common that treating the others apart pays; the same on all ranks
                */
};

_Static_assert(MAX_RANKS <= INT16_MAX, "an owner is a rank");

/* The owner of row i, which rank k touches where touched[k * stride] is not 0. A row that no rank
 * touches is given to one of them. */
static int16_t owner_of(const unsigned char *touched, uint64_t stride, uint64_t i, int size)
{
    int touching = 0, last = 0;
    for (int k = 0; k < size; k++)
        if (touched[(uint64_t)k * stride]) {
            touching++;
            last = k;
        }
    return (int16_t)(touching == 0 ? (int)(i % (uint64_t)size) : touching == 1 ? last : ROW_COMMON);
}

static void count_owners(struct row_owners *s, uint64_t rows, int me)
{
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTS; p++) {
        uint64_t common = 0, own = 0;
        for (uint64_t i = even_cut(rows, p, PARTS); i < even_cut(rows, p + 1, PARTS); i++) {
            common += s->owner[i] == ROW_COMMON;
            own += s->owner[i] == me;
        }
        s->common[p + 1] = common;
        s->own[p + 1] = own;
    }
    for (int p = 0; p < PARTS; p++) {
        s->common[p + 1] += s->common[p];
        s->own[p + 1] += s->own[p];
    }
}

/* Every rank of `peers` calls this with its marks of a range of `rows` rows: touched[i] is 1 where
 * the rank has a nonzero in row i, else 0. Each rank finds the owners of a part of the rows. The
 * caller frees s->owner; *s is empty on failure. STATUS_MEMORY, and failures of other ranks. */
static enum status row_owners_find(struct row_owners *s, struct comm *peers,
                                   const unsigned char *touched, uint64_t rows, struct error *error)
{
    const uint64_t size = (uint64_t)peers->size;
    uint64_t *cut = memory_array(size + 1, sizeof *cut, error);
    /* (ranks x this rank's part): the marks of all */
    unsigned char *mark = memory_array(rows + size, sizeof *mark, error);
    *s = (struct row_owners){.owner = memory_array(rows, sizeof *s->owner, error)};
    if (error->status != STATUS_OK) {
        comm_abort(peers, error);
        goto done;
    }
    for (int k = 0; k <= peers->size; k++)
        cut[k] = even_cut(rows, k, peers->size);
    const uint64_t first = cut[peers->rank], count = cut[peers->rank + 1] - first;
    for (int k = 0; k < peers->size; k++) {
        peers->sent[k] =
            (struct comm_parcel){(char *)(uintptr_t)touched + cut[k], cut[k + 1] - cut[k]};
        peers->received[k] = (struct comm_parcel){(char *)mark + (uint64_t)k * count, count};
    }
    TRY_OR(done, comm_exchange(peers, error));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
        s->owner[first + i] = owner_of(mark + i, count, first + i, peers->size);
    TRY_OR(done, comm_allgatherv(peers, s->owner, cut, sizeof *s->owner, error));
    count_owners(s, rows, peers->rank);
    s->pays = rows > 0 && (double)s->common[PARTS] <= GRID_MOST_COMMON * (double)rows;
done:
    memory_free(mark, cut);
    if (error->status != STATUS_OK) {
        memory_free(s->owner);
        *s = (struct row_owners){0};
    }
    return error->status;
}

/* Cuts the first `common` rows into stripes. */
static enum status make_stripes(struct mode_rows *m, uint64_t common, struct error *error)
{
    uint64_t size = (uint64_t)m->peers->size;
    m->stripe = (common + size - 1) / size;
    m->stripe_first = memory_array(size + 1, sizeof *m->stripe_first, error);
    TRY(error->status);
    for (uint64_t k = 0; k <= size; k++)
        m->stripe_first[k] = k * m->stripe < common ? k * m->stripe : common;
    return STATUS_OK;
}

/* All rows count as common, and this rank solves its stripe. */
static enum status divide_evenly(struct rank_rows *r, int n, struct error *error)
{
    struct mode_rows *m = &r->mode[n];
    TRY(make_stripes(m, r->part.here.dims[n], error));
    m->first = m->stripe_first[m->peers->rank];
    m->count = m->stripe_first[m->peers->rank + 1] - m->first;
    return STATUS_OK;
}

/* Rows that only one rank touches are its own. The rows of the range get the order that the head of
 * rank_rows.h describes. */
static enum status divide_by_owners(struct rank_rows *r, int n, const struct row_owners *s,
                                    struct error *error)
{
    struct mode_rows *m = &r->mode[n];
    TRY(make_stripes(m, s->common[PARTS], error));
    m->first = (uint64_t)m->peers->size * m->stripe;
    m->count = m->stripe + s->own[PARTS];
    m->row = memory_array(m->first + m->count, sizeof *m->row, error);
    TRY(error->status);
    const uint64_t rows = r->range.here.dims[n], first = r->range.first[n];
    uint64_t *room = m->row + m->first; /* for the sums of this rank's stripe */
    for (uint64_t *row = m->row + s->common[PARTS]; row < room; row++)
        *row = NO_ROW;
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTS; p++) {
        uint64_t *common = m->row + s->common[p], *own = room + m->stripe + s->own[p];
        for (uint64_t i = even_cut(rows, p, PARTS); i < even_cut(rows, p + 1, PARTS); i++) {
            if (s->owner[i] == ROW_COMMON)
                *common++ = first + i;
            else if (s->owner[i] == m->peers->rank)
                *own++ = first + i;
        }
    }
    const uint64_t *mine = &m->stripe_first[m->peers->rank];
    memory_copy(room, m->row + mine[0], (mine[1] - mine[0]) * sizeof *room);
    for (uint64_t *row = room + mine[1] - mine[0]; row < room + m->stripe; row++)
        *row = NO_ROW;
    r->part.here.dims[n] = m->first + m->count;
    r->part.row[n] = m->row;
    return STATUS_OK;
}

enum status rank_rows_open(struct rank_rows *r, struct comm *all, const struct process_grid *grid,
                           struct error *error)
{
    int coordinate[MAX_ORDER];
    *r = (struct rank_rows){.all = all, .range = process_grid_part(grid, all->rank)};
    r->part = r->range;
    process_grid_coordinates(grid, all->rank, coordinate);
    for (int n = 0; n < grid->shape.order; n++) {
        r->mode[n].peers = r->all; /* where all are peers: making a communicator takes long */
        r->mode[n].with_rank_0 = coordinate[n] == 0;
        if (grid->parts[n] > 1)
            TRY_OR(done, comm_split(r->all, coordinate[n], &r->mode[n].peers, error));
    }
    if (all->size > 1)
        return STATUS_OK;
    for (int n = 0; n < grid->shape.order; n++)
        TRY_OR(done, rank_rows_divide_mode(r, n, NULL, error));
done:
    if (error->status != STATUS_OK) {
        comm_abort(all, error);
        rank_rows_close(r);
    }
    return error->status;
}

bool rank_rows_compares(const struct rank_rows *r, int n)
{
    return r->mode[n].peers->size > 1;
}

enum status rank_rows_divide_mode(struct rank_rows *r, int n, const unsigned char *touched,
                                  struct error *error)
{
    struct row_owners s = {0};
    if (r->divided)
        return STATUS_OK;
    if (rank_rows_compares(r, n))
        TRY(row_owners_find(&s, r->mode[n].peers, touched, r->range.here.dims[n], error));
    if (s.pays)
        divide_by_owners(r, n, &s, error);
    else
        divide_evenly(r, n, error);
    memory_free(s.owner);
    TRY(error->status);
    r->divided = n + 1 == r->range.whole.order;
    return STATUS_OK;
}

/* A row of this rank's stripe has two places, in the stripe and that of its sums; the first counts.
 */
void rank_rows_places(const struct rank_rows *r, int n, uint32_t *place)
{
    const struct mode_rows *m = &r->mode[n];
    const uint64_t rows = m->row ? m->first + m->count : r->range.here.dims[n];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++) {
        if (!m->row)
            place[i] = (uint32_t)i;
        else if ((i < m->first || i >= m->first + m->stripe) && m->row[i] != NO_ROW)
            place[m->row[i] - r->range.first[n]] = (uint32_t)i;
    }
}

static void renumber(uint32_t *index, uint64_t nnz, const uint32_t *place)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nnz; i++)
        index[i] = place[index[i]];
}

static enum status divide_rows_of(struct rank_rows *r, int n, struct coo *x, struct error *error)
{
    if (!rank_rows_compares(r, n))
        return rank_rows_divide_mode(r, n, NULL, error);
    uint64_t rows = r->range.here.dims[n];
    unsigned char *touched = memory_zeros(rows, sizeof *touched, error);
    uint32_t *place = memory_array(rows, sizeof *place, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++)
        __atomic_store_n(&touched[x->index[n][i]], 1, __ATOMIC_RELAXED);
    TRY_OR(done, rank_rows_divide_mode(r, n, touched, error));
    if (!r->mode[n].row)
        goto done;
    rank_rows_places(r, n, place);
    renumber(x->index[n], x->nnz, place);
done:
    memory_free(place, touched);
    return error->status;
}

enum status rank_rows_divide(struct rank_rows *r, struct coo *x, struct error *error)
{
    if (r->divided)
        return STATUS_OK;
    for (int n = 0; n < r->range.whole.order; n++)
        if (divide_rows_of(r, n, x, error) != STATUS_OK) {
            comm_abort(r->all, error);
            return error->status;
        }
    x->shape = part_shape(&r->part);
    return STATUS_OK;
}

/* The rows of the stripes are those that the deal has placed there. */
static enum status take_deal(struct rank_rows *r, int n, const struct row_deal *d,
                             struct error *error)
{
    struct mode_rows *m = &r->mode[n];
    const uint64_t size = (uint64_t)r->all->size, me = (uint64_t)r->all->rank;
    if (m->peers != r->all)
        comm_finalize(m->peers);
    m->peers = r->all;
    m->with_rank_0 = true;
    TRY(make_stripes(m, size * d->stripe, error));
    m->common = d->common;
    m->first = me * d->stripe;
    m->count = d->rows[me];
    m->row = memory_array(size * d->stripe, sizeof *m->row, error);
    TRY(error->status);
    for (uint64_t k = 0; k < size; k++)
        for (uint64_t i = d->rows[k]; i < d->stripe; i++)
            m->row[k * d->stripe + i] = NO_ROW;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < r->part.whole.dims[n]; i++)
        m->row[d->place[i]] = i;
    r->part.here.dims[n] = size * d->stripe;
    r->part.row[n] = m->row;
    r->part.first[n] = 0;
    return STATUS_OK;
}

static enum status deal_mode(struct rank_rows *r, int n, struct coo *x, bool all_common,
                             struct error *error)
{
    struct row_deal deal = {0};
    const uint64_t rows = r->part.whole.dims[n], first = r->range.first[n];
    uint64_t *own = memory_zeros(rows, sizeof *own, error); /* nonzeros of each row: this rank's */
    uint64_t *count = memory_array(rows, sizeof *count, error); /* of all ranks */
    uint64_t *here[MAX_ORDER] = {NULL};
    TRY_OR(done, error->status);
    here[n] = own + first;
    TRY_OR(done, coo_count_slices(x, &r->range.here, 0, 1, here, error));
    memory_copy(count, own, rows * sizeof *count);
    TRY_OR(done, comm_allreduce_counts(r->all, count, rows, error));
    TRY_OR(done, row_deal_make(&deal, count, rows, r->all->size, all_common, error));
    TRY_OR(done, take_deal(r, n, &deal, error));
    renumber(x->index[n], x->nnz, deal.place + first);
    uint64_t nnz = deal.own[r->all->rank]; /* and those that stay, because their rows are common */
#pragma omp parallel for schedule(static) reduction(+ : nnz) if (deal.common > 0)
    for (uint64_t i = 0; i < rows; i++)
        nnz += mode_rows_is_common(&r->mode[n], deal.place[i]) ? own[i] : 0;
    r->most_nnz = nnz > r->most_nnz ? nnz : r->most_nnz;
done:
    row_deal_free(&deal);
    memory_free(own, count);
    return error->status;
}

enum status rank_rows_deal(struct rank_rows *r, struct coo *x, int kept, struct error *error)
{
    if (r->divided)
        return STATUS_OK;
    r->most_nnz = x->nnz;
    for (int n = 0; n < r->range.whole.order; n++) {
        if (n == kept)
            divide_evenly(r, n, error);
        else
            deal_mode(r, n, x, kept >= 0, error);
        if (error->status != STATUS_OK) {
            comm_abort(r->all, error);
            return error->status;
        }
    }
    x->shape = part_shape(&r->part);
    r->divided = true;
    r->dealt = kept < 0;
    return STATUS_OK;
}

struct rank_rows_stored rank_rows_stored(const struct rank_rows *r, int n, bool whole)
{
    const struct mode_rows *m = &r->mode[n];
    const struct part *part = &r->part;
    const bool messages = !r->all->shares_memory, is_rank_0 = r->all->rank == 0;
    /* the sums of this rank's stripe have room of their own, before rows that no other rank has */
    const bool apart = part->row[n] && m->first == (uint64_t)m->peers->size * m->stripe;
    uint64_t first = m->first, end = m->first + m->count;
    if (!whole)
        return (struct rank_rows_stored){.count = part->here.dims[n]};
    if (messages && is_rank_0) {
        first = apart ? m->stripe : 0;
        end = part->here.dims[n];
    } else if (messages && m->with_rank_0) {
        first = apart ? first + m->stripe : end;
    }
    if (messages && !is_rank_0)
        return (struct rank_rows_stored){first, end - first, NULL, first};
    if (part->row[n])
        return (struct rank_rows_stored){first, end - first, part->row[n] + first, 0};
    return (struct rank_rows_stored){first, end - first, NULL, part->first[n] + first};
}

void rank_rows_close(struct rank_rows *r)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        if (r->mode[n].peers != r->all)
            comm_finalize(r->mode[n].peers);
        memory_free(r->mode[n].stripe_first, r->mode[n].row);
    }
    *r = (struct rank_rows){0};
}

double rank_rows_seconds(const struct rank_rows *r)
{
    double seconds = r->all->seconds;
    for (int n = 0; n < r->part.whole.order; n++)
        seconds += r->mode[n].peers == r->all ? 0 : r->mode[n].peers->seconds;
    return seconds;
}

/* Copies this rank's stripe to the room for its sums, or back, where that is another place. */
static void copy_stripe(const struct mode_rows *m, double *rows, uint64_t rank, bool back)
{
    const uint64_t *mine = &m->stripe_first[m->peers->rank];
    double *stripe = rows + mine[0] * rank, *room = rows + m->first * rank;
    if (m->first != mine[0])
        memcpy(back ? stripe : room, back ? room : stripe,
               (mine[1] - mine[0]) * rank * sizeof *rows);
}

enum status rank_rows_reduce_scatter(const struct rank_rows *r, int n, double *m, uint64_t rank,
                                     struct error *error)
{
    const struct mode_rows *mode = &r->mode[n];
    const struct comm_rows rows = {mode->stripe_first, rank};
    TRY(comm_reduce_scatter(mode->peers, m, &rows, error));
    copy_stripe(mode, m, rank, false);
    return STATUS_OK;
}

enum status rank_rows_allgather(const struct rank_rows *r, int n, double *a, uint64_t rank,
                                struct error *error)
{
    const struct mode_rows *mode = &r->mode[n];
    copy_stripe(mode, a, rank, true);
    return comm_allgatherv(mode->peers, a, mode->stripe_first, rank * sizeof *a, error);
}
