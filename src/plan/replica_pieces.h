/* How the rows of an ordering `mode n` that is built from another one are cut into pieces, and
 * which of the other one's batches have nonzeros for a piece. */
#ifndef BLCO_REPLICA_PIECES_H
#define BLCO_REPLICA_PIECES_H

#include "plan/row_range.h"

/* Runs of rows, one after the other, up to the mode's length. */
struct replica_pieces {
    uint32_t *end; /* (count): each one's, the first row behind it; owned */
    uint64_t count;
};

/* One piece of all rows. On failure *p is empty, here and below. STATUS_MEMORY. */
enum status replica_pieces_whole(struct replica_pieces *p, uint64_t length, struct error *error);

/* The longest pieces of at most `most` nonzeros; count (length) are those of each row, nnz of all.
 * STATUS_MEMORY where a row has more than that, or 2^32 and more, which its count does not show. */
enum status replica_pieces_cut(struct replica_pieces *p, const uint32_t *count, uint64_t length,
                               uint64_t nnz, uint64_t most, struct error *error);

/* What that will about be where rows have not been counted: batches have as many nonzeros each,
 * spread evenly over the rows that they can have. Rows that many of them share are not cut. */
enum status replica_pieces_guess(struct replica_pieces *p, const struct row_range *range,
                                 uint64_t batches, uint64_t length, uint64_t nnz, uint64_t most,
                                 struct error *error);

/* Accepts an empty one. */
void replica_pieces_free(struct replica_pieces *p);

/* The first row of piece i. */
uint32_t replica_pieces_begin(const struct replica_pieces *p, uint64_t i);

/* The batches, of `batches`, that can have rows of piece i, ascending, into list (batches); returns
 * how many. */
uint64_t replica_pieces_batches(const struct replica_pieces *p, uint64_t i,
                                const struct row_range *range, uint64_t batches, uint64_t *list);

#endif
