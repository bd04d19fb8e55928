/* Decides when it pays to build replicas of a streamed tensor, an ordering `mode n` for each mode:
 * building replicas takes about as long as a few sweeps, and makes later sweeps shorter. */
#ifndef BLCO_REPLICA_CHOICE_H
#define BLCO_REPLICA_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"

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

#endif
