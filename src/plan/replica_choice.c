#include "plan/replica_choice.h"

/* Of the time from alto that a mode takes at least from its own ordering, which needs no sort and
 * hardly an atomic. Measured on an H200: 0.53 to 0.79. */
#define KERNEL_SHARE 0.7

/* What a mode would gain; nothing where the bus is what it waits for. */
static double gain(double seconds, double flowing)
{
    double own = KERNEL_SHARE * seconds > flowing ? KERNEL_SHARE * seconds : flowing;
    return seconds > own ? seconds - own : 0;
}

bool replica_choice_sweep(struct replica_choice *c, const double *seconds)
{
    double gained = 0;
    for (int n = 0; n < c->order; n++)
        gained += gain(seconds[n], c->flowing[n]);
    c->sweeps++;
    c->lost += gained;
    double left = c->iterations > c->sweeps ? (double)(c->iterations - c->sweeps) : 0;
    return gained > 0 && (c->lost >= c->building || gained * left / 2 >= c->building);
}
