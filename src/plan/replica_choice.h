/* Whether it pays to give the modes of a streamed tensor orderings of their own: building them
 * takes about as long as a few sweeps, and a sweep is shorter afterwards. */
#ifndef BLCO_REPLICA_CHOICE_H
#define BLCO_REPLICA_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"

struct replica_choice {
    int order;
    uint64_t iterations;       /* sweeps at most; 0: not known                             */
    double building;           /* seconds, estimated, for all modes                        */
    double flowing[MAX_ORDER]; /* seconds that a mode's own ordering takes over the bus    */
    uint64_t sweeps;           /* so far                                                   */
    double lost;               /* seconds by which they were longer than they could be     */
};

/* Counts a sweep, of which these are the seconds that MTTKRP took from alto, mode by mode (order).
 * Says whether to build now: where half of the sweeps that may follow would gain more than building
 * takes; or where as much has been lost already, so that in the end not more than twice the time of
 * the better choice is spent, whenever the run ends. */
bool replica_choice_sweep(struct replica_choice *c, const double *seconds);

#endif
