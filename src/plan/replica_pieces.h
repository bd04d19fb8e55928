/* Cuts the rows of a replica (an ordering `mode n` that is built from another ordering, in batches)
 * into replica pieces, and says which batches can have nonzeros of a replica piece. */
#ifndef BLCO_REPLICA_PIECES_H
#define BLCO_REPLICA_PIECES_H

#include "plan/row_range.h"

/* Ranges of rows, one after the other, that cover the mode. */
struct replica_pieces {
    uint32_t *end; /* (count): the first row behind each replica piece; owned */
    uint64_t count;
};

/* One replica piece of all rows. STATUS_MEMORY. Here and below *p is empty on failure, and the
 * caller frees it with replica_pieces_free. */
enum status replica_pieces_whole(struct replica_pieces *p, uint64_t length, struct error *error);

/* The longest replica pieces of at most `most` nonzeros. count (length) is the nonzeros of each
 * row, nnz those of all rows. STATUS_MEMORY, also where a row has more than `most` nonzeros, or
 * 2^32 and more: then the counts do not sum to nnz. */
enum status replica_pieces_cut(struct replica_pieces *p, const uint32_t *count, uint64_t length,
                               uint64_t nnz, uint64_t most, struct error *error);

/* An estimate of replica_pieces_cut where rows have not been counted: it takes all batches to have
 * equally many nonzeros, spread evenly over range[b] (batches), the rows that batch b can have. Row
 * counts are kept for at most 4096 bins of rows, which are not cut. STATUS_MEMORY. */
enum status replica_pieces_guess(struct replica_pieces *p, const struct row_range *range,
                                 uint64_t batches, uint64_t length, uint64_t nnz, uint64_t most,
                                 struct error *error);

/* Accepts an empty *p. */
void replica_pieces_free(struct replica_pieces *p);

/* The first row of replica piece i. */
uint32_t replica_pieces_begin(const struct replica_pieces *p, uint64_t i);

/* Which of the `batches` batches can have rows of replica piece i: their numbers, ascending, into
 * list (batches). Returns how many. range[b] (batches) is the rows that batch b can have. */
uint64_t replica_pieces_batches(const struct replica_pieces *p, uint64_t i,
                                const struct row_range *range, uint64_t batches, uint64_t *list);

#endif
