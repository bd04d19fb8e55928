/* Decides when it pays to build replicas of a streamed tensor, an ordering `mode n` for each mode:
 * building them takes about as long as a few sweeps, and later sweeps are shorter. */
#ifndef BLCO_REPLICA_CHOICE_H
#define BLCO_REPLICA_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"

struct replica_choice {
    int order;
    uint64_t iterations;           /* of ALS, at most; 0: not known                            */
    double build_seconds;          /* estimate for the orderings of all modes                  */
    double bus_seconds[MAX_ORDER]; /* that a mode's own ordering takes over the bus, per sweep */
    uint64_t sweeps;               /* so far                                                   */
    double lost_seconds;           /* by which these sweeps were longer than with replicas     */
};

/* Counts a sweep; seconds (order) is what MTTKRP of each mode took from alto, 0 for a mode that
 * needs no replica. True where the replicas should be built now: half of the sweeps that may follow
 * would gain more than building takes; or as much has been lost already, so that at most twice the
 * time of the better choice is spent, whenever ALS ends. */
bool replica_choice_sweep(struct replica_choice *c, const double *seconds);

#endif
