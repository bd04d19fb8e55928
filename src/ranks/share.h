/* A rank's share of a tensor, before each nonzero is on the rank that owns it: pieces, which can be
 * freed one by one while their nonzeros are sent. The shares of all ranks together are the tensor.
 */
#ifndef BLCO_SHARE_H
#define BLCO_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include "comm/comm.h"
#include "tensor/coo_pieces.h"

struct share {
    struct shape shape; /* of the whole tensor         */
    uint64_t total;     /* nonzeros of all ranks' shares */
    uint64_t nnz;       /* of this one                 */
    struct coo *piece;  /* (pieces), of the tensor's shape; owned */
    size_t pieces, room;
    bool borrowed; /* the arrays of the pieces are someone else's                               */
    bool dealt;    /* the tensor's order is: every rank's first piece, every rank's second, and so
                    * on, as many on each rank. Otherwise: all of rank 0's pieces, of rank 1's   */
    bool clean;    /* coordinates are distinct and no value is zero                             */
};

/* The nonzeros of rank number `rank` of `ranks` when n of them are shared out evenly are those from
 * share_begin(n, rank, ranks) to share_begin(n, rank + 1, ranks) - 1. */
uint64_t share_begin(uint64_t n, int rank, int ranks);

/* Adds *piece, which is empty afterwards. STATUS_MEMORY frees the piece. */
enum status share_append(struct share *s, struct coo *piece, struct error *error);

/* Gives the share and its pieces the tensor's shape. */
void share_set_shape(struct share *s, const struct shape *shape);

/* An even share of x, which is clean and in the memory of all ranks of c, which are threads of one
 * process. x outlives the share. The caller frees *s with share_free; it is empty on failure.
 * STATUS_MEMORY on this rank alone. */
enum status share_of_memory(struct share *s, const struct comm *c, const struct coo *x,
                            struct error *error);

/* The share's nonzeros; valid while the share is. */
struct coo_pieces share_pieces(struct share *s);

/* Frees the arrays of a piece that is needed no more. */
void share_free_piece(struct share *s, size_t piece);

/* Accepts an empty one. */
void share_free(struct share *s);

#endif
