/* ALS on several ranks, measured: every rank measures its own part (bench.h), and rank 0 gathers.
 */
#ifndef BLCO_BENCH_RANKS_H
#define BLCO_BENCH_RANKS_H

#include "bench/bench.h"
#include "ranks/rank_tensor.h"

/* What one rank measured. */
struct bench_rank {
    uint64_t nnz;             /* of its part                                                    */
    double mttkrp[MAX_ORDER]; /* [n]: median seconds of MTTKRP of mode n in an iteration        */
    double update[MAX_ORDER]; /* [n]: mean seconds of the update, moving rows included          */
    double communication;     /* mean seconds of an iteration in which rows and sums moved      */
};

struct bench_ranks {
    int ranks;
    int parts[MAX_ORDER];  /* of the grid                                                       */
    struct shape shape;    /* of the whole tensor                                              */
    uint64_t nnz;          /* of the whole tensor                                               */
    double imbalance;      /* nonzeros of the fullest rank over the mean, less 1                */
    struct grid_cost cost; /* that the model predicts                                           */
    double read_seconds, exchange_seconds; /* from the file to each rank's nonzeros             */
    struct bench_rank *rank;               /* (ranks); owned                                    */
};

/* *ranks = the results of all ranks of t; *result is that of this rank, for its part. Every rank
 * calls it. The caller frees *ranks with bench_ranks_free, after a failure too.
 * STATUS_MEMORY; the failure of another rank. */
enum status bench_ranks_gather(struct bench_ranks *ranks, const struct rank_tensor *t,
                               const struct bench_result *result, struct error *error);

/* Seconds of the MTTKRPs of an iteration: the sum over modes of the slowest rank. */
double bench_ranks_mttkrp(const struct bench_ranks *ranks, int order);

/* Accepts an empty one. */
void bench_ranks_free(struct bench_ranks *ranks);

#endif
