#include "tensor/coo_pieces.h"

static enum status whole(void *x, coo_taker take, void *context, struct error *error)
{
    struct coo piece = *(struct coo *)x;
    return take(context, &piece, error);
}

struct coo_pieces coo_in_one_piece(struct coo *x)
{
    return (struct coo_pieces){.shape = x->shape, .nnz = x->nnz, .each = whole, .pieces = x};
}
