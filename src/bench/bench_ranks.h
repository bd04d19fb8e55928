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

/* Opens the tensor at `path` on the ranks of c and measures; every rank calls it. *result has what
 * this rank measured, of its part, *ranks what all did. request->input is ignored. The caller frees
 * both with bench_free and bench_ranks_free, after a failure too. Errors of rank_tensor_open and
 * bench_run. */
enum status bench_run_ranks(struct bench_ranks *ranks, struct bench_result *result, struct comm *c,
                            const char *path, const struct tns_options *tns,
                            const struct rank_request *split, const struct bench_request *request,
                            struct progress *progress, struct error *error);

/* Seconds of the MTTKRPs of an iteration, those of the slowest rank in each mode. */
double bench_ranks_mttkrp(const struct bench_ranks *ranks, int order);

/* Accepts an empty one. */
void bench_ranks_free(struct bench_ranks *ranks);

#endif
