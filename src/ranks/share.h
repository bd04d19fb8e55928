/* A rank's share of a tensor: the nonzeros that it reads, before each goes to the rank that owns
 * it. They are in pieces, which can be freed one by one while their nonzeros are sent. The shares
 * of all ranks together are the tensor; a rank alone has all of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/least.h"
#include "comm/comm.h"
#include "formats/tensor_file.h"
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

/* --- from a file. Every rank reads its share of a file that has shares (a regular file of plain
 * text, NumPy arrays, a .blco file). Others are read by rank 0 alone, which deals out the entries
 * of each piece evenly. --- */

/* STATUS_INPUT on all ranks where a rank's file is not rank 0's (ranks may be on several hosts):
 * they differ in the two numbers of `identity` (tensor_reader.h). */
enum status share_check_same_file(struct comm *c, const char *path, const uint64_t identity[2],
                                  struct error *error);

/* Reads this rank's share of the file of *r, whose first members are set, the same on all ranks but
 * for `progress`; in pieces of r->cut. Every rank of c calls it. Entries of a format that is not
 * clean may take options->memory bytes, or this rank's part of what the machine has, with
 * TENSOR_CLEAN_BYTES for each to clean them; beyond that STATUS_MEMORY, so that the system does not
 * run out of memory. The caller frees *s with share_free, which is empty on failure, which all
 * ranks see, and closes *r, after a failure too. Errors of the reader, with the message that one
 * process gives. */
enum status share_read(struct share *s, struct comm *c, struct tensor_reader *r,
                       const struct tns_options *options, struct error *error);

/* Reads only about every `every`-th nonzero (1 or more) of the share of a .blco file; s->total is
 * the number of nonzeros that all ranks have read. Likewise. */
enum status share_sample_blco(struct share *s, struct comm *c, const struct blco_file *f,
                              uint64_t every, struct error *error);
