#include "ranks/share.h"

#include "base/memory.h"

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
