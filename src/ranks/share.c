#include "ranks/share.h"

#include <inttypes.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "plan/process_grid.h"

enum status share_append(struct share *s, struct coo *piece, struct error *error)
{
    if (s->pieces == s->room) {
        size_t room = 2 * s->room + 8;
        if (memory_resize(&s->piece, room, sizeof *s->piece, error) != STATUS_OK) {
            if (!s->borrowed)
                coo_free(piece);
            return error->status;
        }
        s->room = room;
    }
    s->piece[s->pieces++] = *piece;
    s->nnz += piece->nnz;
    *piece = (struct coo){0};
    return STATUS_OK;
}

void share_set_shape(struct share *s, const struct shape *shape)
{
    s->shape = *shape;
    for (size_t p = 0; p < s->pieces; p++)
        s->piece[p].shape = *shape;
}

enum status share_of_memory(struct share *s, const struct comm *c, const struct coo *x,
                            struct error *error)
{
    uint64_t begin = even_cut(x->nnz, c->rank, c->size);
    uint64_t end = even_cut(x->nnz, c->rank + 1, c->size);
    struct coo piece = coo_slice(x, begin, end - begin);
    *s = (struct share){.shape = x->shape, .total = x->nnz, .borrowed = true, .clean = true};
    return share_append(s, &piece, error);
}

static enum status each_piece(void *share, coo_taker take, void *context, struct error *error)
{
    struct share *s = share;
    for (size_t p = 0; p < s->pieces; p++) {
        struct coo piece = s->piece[p];
        TRY(take(context, &piece, error));
    }
    return STATUS_OK;
}

struct coo_pieces share_pieces(struct share *s)
{
    return (struct coo_pieces){.shape = s->shape, .nnz = s->nnz, .each = each_piece, .pieces = s};
}

void share_free_piece(struct share *s, size_t piece)
{
    if (!s->borrowed)
        coo_free(&s->piece[piece]);
}

void share_free(struct share *s)
{
    for (size_t p = 0; p < s->pieces; p++)
        share_free_piece(s, p);
    memory_free(s->piece);
    *s = (struct share){0};
}

/* --- from a file --- */

enum status share_check_same_file(struct comm *c, const char *path, const uint64_t identity[2],
                                  struct error *error)
{
    uint64_t first[2] = {identity[0], identity[1]};
    if (comm_bcast(c, 0, first, sizeof first, error) == STATUS_OK &&
        (first[0] != identity[0] || first[1] != identity[1]))
        error_set(error, STATUS_INPUT, "%s: rank %d finds another file than rank 0 under this name",
                  path, c->rank);
    return comm_allreduce_error(c, error);
}

/* Refuses a share of more entries than `memory` holds. */
static enum status check_memory(const struct share *s, const struct tensor_reader *r, int order,
                                uint64_t memory, const struct comm *c, struct error *error)
{
    const uint64_t most = memory / (coo_bytes(order, 1) + TENSOR_CLEAN_BYTES);
    if (!r->format->is_clean && s->nnz > most)
        return error_set(
            error, STATUS_MEMORY,
            "%s: more than %" PRIu64 " entries in the share of rank %d, for which there is "
            "not enough memory: convert it to .blco, which takes less, or allow more with "
            "--host-memory",
            r->path, most, c->rank);
    return STATUS_OK;
}

/* Rank k gets the numbers first[k] to first[k + 1] - 1, of `size` bytes each, of rank 0's array
 * `from` at `to`. */
static enum status deal_array(struct comm *c, const void *from, void *to, size_t size,
                              const uint64_t *first, struct error *error)
{
    const bool deals = c->rank == 0;
    for (int k = 0; k < c->size; k++) {
        c->sent[k] = (struct comm_parcel){(char *)(uintptr_t)from + (deals ? first[k] * size : 0),
                                          deals ? (first[k + 1] - first[k]) * size : 0};
        c->received[k] = (struct comm_parcel){to, 0};
    }
    c->received[0].size = (first[c->rank + 1] - first[c->rank]) * size;
    return comm_exchange(c, error);
}

/* Cuts rank 0's entries x into even parts; the next piece of each rank's share is its part. Every
 * rank knows the shape and nnz of x; only rank 0 has its arrays. Fails on every rank. */
static enum status deal(struct share *s, struct comm *c, const struct coo *x, struct error *error)
{
    uint64_t first[MAX_RANKS + 1];
    struct coo piece;
    for (int k = 0; k <= c->size; k++)
        first[k] = even_cut(x->nnz, k, c->size);
    if (coo_create(&piece, &x->shape, first[c->rank + 1] - first[c->rank], error) == STATUS_OK)
        share_append(s, &piece, error);
    TRY(comm_allreduce_error(c, error));
    const struct coo *to = &s->piece[s->pieces - 1];
    for (int k = 0; k < COO_COLUMNS; k++)
        if (to->column[k])
            TRY(deal_array(c, x->column[k], to->column[k], coo_column_bytes(k), first, error));
    return STATUS_OK;
}

/* Opens the file on rank 0, and on the others where it has shares (s->dealt is false). */
static enum status open_together(struct share *s, struct comm *c, struct tensor_reader *r,
                                 struct error *error)
{
    int dealt = 0;
    if (c->rank == 0 && tensor_reader_open(r, error) == STATUS_OK)
        dealt = !r->has_shares && c->size > 1;
    TRY(comm_allreduce_error(c, error));
    TRY(comm_bcast(c, 0, &dealt, sizeof dealt, error));
    s->dealt = dealt;
    if (s->dealt)
        return STATUS_OK;
    if (c->rank > 0)
        tensor_reader_open(r, error);
    TRY(comm_allreduce_error(c, error));
    r->share = c->rank;
    r->shares = c->size;
    return share_check_same_file(c, r->path, r->identity, error);
}

/* Reads the share of this rank. */
static enum status read_own(struct share *s, const struct comm *c, struct tensor_reader *r,
                            uint64_t memory, struct error *error)
{
    while (!r->over) {
        struct coo piece;
        TRY(tensor_reader_next(r, error));
        tensor_reader_keep(r, &piece);
        const int order = piece.shape.order;
        if (order > 0) /* else there is no entry */
            TRY(share_append(s, &piece, error));
        if (c->size > 1)
            TRY(check_memory(s, r, order, memory, c, error));
    }
    return STATUS_OK;
}

/* Deals out the pieces of rank 0, until the last one or until rank 0 fails, of which the others
 * know only afterwards. */
static enum status deal_pieces(struct share *s, struct comm *c, struct tensor_reader *r,
                               uint64_t memory, struct error *error)
{
    for (;;) {
        struct {
            struct shape shape; /* order 0: there is no piece */
            uint64_t nnz;
            int over;
        } next = {.over = 1};
        if (c->rank == 0 && tensor_reader_next(r, error) == STATUS_OK) {
            next.shape = r->piece.shape;
            next.nnz = r->piece.nnz;
            next.over = r->over;
        }
        struct error unsent = {0};
        if (comm_bcast(c, 0, &next, sizeof next, &unsent) != STATUS_OK)
            error_set(error, unsent.status, "%s", unsent.message);
        TRY(error->status);
        if (next.shape.order == 0)
            return STATUS_OK;
        r->piece.shape = next.shape;
        r->piece.nnz = next.nnz;
        TRY(deal(s, c, &r->piece, error));
        check_memory(s, r, next.shape.order, memory, c, error);
        TRY(comm_allreduce_error(c, error));
        if (next.over)
            return STATUS_OK;
    }
}

/* Rank 0, which always has the beginning of the file, checks the end; then the share gets the shape
 * and the number of entries of the tensor. */
static enum status end_together(struct share *s, struct comm *c, struct tensor_reader *r,
                                struct error *error)
{
    uint64_t sum[] = {s->nnz, r->bytes, r->listed.unknown, r->listed.zeros};
    uint32_t mine[MAX_ORDER];
    memcpy(mine, r->largest, sizeof mine);
    for (int k = 0; k < c->size; k++) {
        uint32_t its[MAX_ORDER];
        memcpy(its, mine, sizeof its);
        TRY(comm_bcast(c, k, its, sizeof its, error));
        for (int n = 0; n < MAX_ORDER; n++)
            r->largest[n] = its[n] > r->largest[n] ? its[n] : r->largest[n];
    }
    TRY(comm_allreduce_counts(c, sum, 4, error));
    s->total = r->entries = sum[0];
    r->bytes = sum[1];
    r->listed = (struct coo_listed){.unknown = sum[2], .zeros = sum[3]};
    if (c->rank == 0)
        tensor_reader_end(r, error);
    TRY(comm_allreduce_error(c, error));
    struct shape shape = r->shape;
    TRY(comm_bcast(c, 0, &shape, sizeof shape, error));
    share_set_shape(s, &shape);
    s->clean = r->format->is_clean;
    return STATUS_OK;
}

enum status share_read(struct share *s, struct comm *c, struct tensor_reader *r,
                       const struct tns_options *options, struct error *error)
{
    uint64_t memory = machine_memory_budget(options ? options->memory : 0);
    if (!options || options->memory == 0)
        memory /= (uint64_t)c->local_size;
    *s = (struct share){0};
    r->memory = memory;
    r->overhead = TENSOR_CLEAN_BYTES;
    TRY_OR(done, open_together(s, c, r, error));
    if (s->dealt)
        deal_pieces(s, c, r, memory, error);
    else
        read_own(s, c, r, memory, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    end_together(s, c, r, error);
done:
    if (error->status != STATUS_OK) {
        progress_clear(r->progress);
        share_free(s);
    }
    return error->status;
}

enum status share_sample_blco(struct share *s, struct comm *c, const struct blco_file *f,
                              uint64_t every, struct error *error)
{
    struct coo sample;
    const uint64_t begin = even_cut(f->header->nsegments, c->rank, c->size);
    const uint64_t end = even_cut(f->header->nsegments, c->rank + 1, c->size);
    *s = (struct share){0};
    if (blco_sample(&sample, f, begin, end, every, error) == STATUS_OK)
        share_append(s, &sample, error);
    s->total = s->nnz;
    TRY_OR(done, comm_allreduce_counts(c, &s->total, 1, error));
    share_set_shape(s, &f->shape);
done:
    if (error->status != STATUS_OK)
        share_free(s);
    return error->status;
}
