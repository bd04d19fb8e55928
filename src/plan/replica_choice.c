#include "plan/replica_choice.h"

/* The time of MTTKRP from a mode's own ordering, which needs no sort and hardly any atomics, over
 * the time from alto. Measured on an H200: 0.53 to 0.79. */
#define KERNEL_RATIO 0.7

/* Seconds that a mode would gain in a sweep; 0 where the bus takes as long as MTTKRP from alto. */
static double gain(double seconds, double bus_seconds)
{
    double own = KERNEL_RATIO * seconds > bus_seconds ? KERNEL_RATIO * seconds : bus_seconds;
    return seconds > own ? seconds - own : 0;
}

bool replica_choice_sweep(struct replica_choice *c, const double *seconds)
{
    double gained = 0;
    for (int n = 0; n < c->order; n++)
        gained += gain(seconds[n], c->bus_seconds[n]);
    c->sweeps++;
    c->lost_seconds += gained;
    double left = c->iterations > c->sweeps ? (double)(c->iterations - c->sweeps) : 0;
    return gained > 0 &&
           (c->lost_seconds >= c->build_seconds || gained * left / 2 >= c->build_seconds);
}
