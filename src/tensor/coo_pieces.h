/* A tensor that is handed over in pieces, since the whole need not fit into memory. Implemented in
 * coo.c. */
#ifndef BLCO_COO_PIECES_H
#define BLCO_COO_PIECES_H

#include "tensor/coo.h"

/* Takes a piece: consecutive nonzeros, with the order and lengths of the whole tensor (a text
 * reader, which does not know the lengths yet, gives those of the largest indices so far). The
 * piece is the caller's, valid during the call; the taker may change its nonzeros and their number,
 * not free it. A failure of the taker ends the caller with the taker's status and message. */
typedef enum status (*coo_taker)(void *context, struct coo *piece, struct error *error);

struct coo_pieces {
    struct shape shape;
    uint64_t nnz; /* of all pieces */
    /* Hands all pieces to `take`, one after the other, the same pieces at each call; ends at the
     * first failure, with its status. */
    enum status (*each)(void *pieces, coo_taker take, void *context, struct error *error);
    void *pieces; /* first argument of each(); borrowed */
};

/* A tensor in memory as one piece, which is a copy of *x that borrows its arrays. x must outlive
 * the pieces, and takers must leave the arrays as they are. */
struct coo_pieces coo_in_one_piece(struct coo *x);

#endif
