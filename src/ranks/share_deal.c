#include "ranks/share_deal.h"

#include "plan/process_grid.h"

/* Rank k gets the numbers first[k] to first[k + 1] - 1, of `size` bytes each, of rank 0's array
 * `from` at `to`. */
static enum status deal_array(struct comm *c, const void *from, void *to, size_t size,
                              const uint64_t *first, struct error *error)
{
    uint64_t send[MAX_RANKS + 1], receive[MAX_RANKS + 1];
    for (int k = 0; k <= c->size; k++) {
        send[k] = c->rank == 0 ? first[k] * size : 0;
        receive[k] = k > 0 ? (first[c->rank + 1] - first[c->rank]) * size : 0;
    }
    return comm_alltoallv(c, from, send, to, receive, error);
}

/* Appends a piece that has room for nnz entries. */
static enum status append_room(struct share *s, const struct shape *shape, uint64_t nnz,
                               struct error *error)
{
    struct coo piece;
    TRY(coo_create(&piece, shape, nnz, error));
    return share_append(s, &piece, error);
}

enum status share_deal(struct share *s, struct comm *c, const struct coo *x, struct error *error)
{
    uint64_t first[MAX_RANKS + 1];
    for (int k = 0; k <= c->size; k++)
        first[k] = even_cut(x->nnz, k, c->size);
    append_room(s, &x->shape, first[c->rank + 1] - first[c->rank], error);
    TRY(comm_allreduce_error(c, error));
    const struct coo *to = &s->piece[s->pieces - 1];
    for (int n = 0; n < x->shape.order; n++)
        TRY(deal_array(c, x->index[n], to->index[n], sizeof *x->index[n], first, error));
    return deal_array(c, x->value, to->value, sizeof *x->value, first, error);
}
