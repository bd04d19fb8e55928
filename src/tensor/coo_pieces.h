/* A tensor that is handed over in pieces, since the whole need not fit into memory. */
#ifndef BLCO_COO_PIECES_H
#define BLCO_COO_PIECES_H

#include "tensor/coo.h"

/* Takes a piece: consecutive nonzeros, with the order and lengths of the whole tensor (a reader
 * that does not know these yet gives the lengths so far). The piece is valid during the call, in
 * which its nonzeros and their number may be changed. A status other than STATUS_OK ends the handing
 * over, and is what its caller fails with. */
typedef enum status (*coo_taker)(void *context, struct coo *piece, struct error *error);

struct coo_pieces {
    struct shape shape;
    uint64_t nnz; /* of all pieces */
    /* Hands all pieces to `take`, one after the other, the same pieces at each call; ends at the
     * first failure, with its status. */
    enum status (*each)(void *pieces, coo_taker take, void *context, struct error *error);
    void *pieces; /* first argument of each(); borrowed */
};

#endif
