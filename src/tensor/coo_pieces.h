/* A tensor that comes in pieces, since all of it need not fit into memory. */
#ifndef BLCO_COO_PIECES_H
#define BLCO_COO_PIECES_H

#include "tensor/coo.h"

/* Is given a piece, of the whole tensor's order and lengths, which it may change during the call.
 */
typedef enum status (*coo_taker)(void *context, struct coo *piece, struct error *error);

struct coo_pieces {
    struct shape shape;
    uint64_t nnz; /* of all pieces */
    /* Gives all pieces to `take`, one after the other, the same at each call; ends with the first
     * failure. */
    enum status (*each)(void *source, coo_taker take, void *context, struct error *error);
    void *source;
};

#endif
