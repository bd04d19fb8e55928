/* A rank's share of a tensor: the nonzeros that it reads, before each goes to the rank that owns
 * it. They are in pieces, which can be freed one by one while their nonzeros are sent. The shares
 * of all ranks together are the tensor. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/least.h"
#include "comm/comm.h"
#include "tensor/coo.h"

struct share {
    struct shape shape; /* of the whole tensor         */
    uint64_t total;     /* nonzeros of all shares      */
    uint64_t nnz;       /* nonzeros of this one        */
    struct coo *piece;  /* (pieces), of the tensor's shape; owned */
    size_t pieces, room;
    bool borrowed; /* the pieces borrow their arrays                                            */
    bool dealt;    /* the tensor's order is: the first pieces of all ranks, then their next
                    * pieces, ...; every rank has equally many. Otherwise: all pieces of rank 0,
                    * then those of rank 1, ...                                                 */
    bool clean;    /* coordinates are distinct and no value is zero                             */
};

/* Adds *piece, which is empty afterwards. STATUS_MEMORY frees the piece. */
enum status share_append(struct share *s, struct coo *piece, struct error *error);

/* Gives the share and its pieces the tensor's shape. */
void share_set_shape(struct share *s, const struct shape *shape);

/* An even share of x, which is clean. The ranks of c are threads of one process, and all see x,
 * which outlives the share. The caller frees *s with share_free; it is empty on failure.
 * STATUS_MEMORY on this rank alone. */
enum status share_of_memory(struct share *s, const struct comm *c, const struct coo *x,
                            struct error *error);

/* The share's nonzeros; valid while the share is. */
struct coo_pieces share_pieces(struct share *s);

/* Frees the arrays of a piece that is needed no more. */
void share_free_piece(struct share *s, size_t piece);

/* Accepts an empty one. */
void share_free(struct share *s);
