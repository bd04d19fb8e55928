/* When it pays to build replicas of a streamed tensor, an ordering `mode n` for each mode (building
 * replicas takes about as long as a few sweeps, and makes later sweeps shorter), and in which
 * pieces a replica is built from another ordering. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"
#include "tensor/ordering.h"

struct replica_choice {
    int order;
    uint64_t iterations;           /* of ALS, at most; 0: not known                            */
    double build_seconds;          /* estimate for the replicas of all modes                   */
    double bus_seconds[MAX_ORDER]; /* [n]: that the replica of mode n flows in a sweep         */
    uint64_t sweeps;               /* counted so far                                           */
    double lost_seconds;           /* that replicas would have saved in these sweeps           */
};

/* Counts a sweep; seconds (order) are the times of each mode's MTTKRP from alto, 0 for a mode that
 * needs no replica. Returns true where the replicas should be built now: because they would save
 * build_seconds or more in half of the sweeps that may still follow, or would have saved that much
 * in the sweeps so far. By the second rule, whenever ALS ends, the time lost and the time of
 * building are together at most twice the cost of the better choice. */
bool replica_choice_sweep(struct replica_choice *c, const double *seconds);

/* Replica pieces: ranges of rows, one after the other, that cover all rows of the mode. */
struct replica_pieces {
    uint32_t *end; /* (count): the first row after each replica piece; owned */
    uint64_t count;
};

/* The batches that a replica is built from, and the rows that each of them can have. */
struct batch_rows {
    struct row_range *range; /* (count) */
    uint64_t count;
};

/* *p = one replica piece of all `length` rows. Here and below the caller frees *p with
 * replica_pieces_free; *p is empty on failure. STATUS_MEMORY. */
enum status replica_pieces_whole(struct replica_pieces *p, uint64_t length, struct error *error);

/* *p = replica pieces as long as possible, of at most `most` nonzeros each. count (length) is the
 * number of nonzeros of each row, nnz that of all rows. STATUS_MEMORY, also where a row has more
 * than `most` nonzeros, or 2^32 or more, which its count cannot hold: then the sum of `count` is
 * not nnz. */
enum status replica_pieces_cut(struct replica_pieces *p, const uint32_t *count, uint64_t length,
                               uint64_t nnz, uint64_t most, struct error *error);

/* *p = an estimate of replica_pieces_cut for rows that have not been counted, as if all batches had
 * equally many nonzeros, spread evenly over the rows that they can have. Replica pieces are made of
 * at most 4096 equal bins of rows, each of which stays whole. STATUS_MEMORY. */
enum status replica_pieces_guess(struct replica_pieces *p, const struct batch_rows *batches,
                                 uint64_t length, uint64_t nnz, uint64_t most, struct error *error);

/* Accepts an empty *p. */
void replica_pieces_free(struct replica_pieces *p);

/* The first row of replica piece i. */
uint32_t replica_pieces_begin(const struct replica_pieces *p, uint64_t i);

/* list (batches->count) = the numbers of the batches that can have rows of replica piece i,
 * ascending. Returns how many there are. */
uint64_t replica_pieces_batches(const struct replica_pieces *p, uint64_t i,
                                const struct batch_rows *batches, uint64_t *list);
