#include "plan/fiber_choice.h"

#include <math.h>

#include "numerics/fiber_sample.h"

#define MAP_BITS (UINT64_C(1) << FIBER_MAP_BITS)
#define CROWDED  4   /* one in so many bits may be marked */
#define WORTH    0.8 /* so many of the longest mode's fibers, at most: sorting then takes longer */

int fiber_skipped_bits(uint64_t nnz)
{
    int skipped = 0;
    while (nnz >> skipped > MAP_BITS / CROWDED)
        skipped++;
    return skipped;
}

/* Several fibers may have marked one bit: linear counting (Whang, Vander-Zanden, Taylor; ACM
 * Transactions on Database Systems 15, 1990). */
double fiber_estimate(uint64_t marked, int skipped)
{
    const double bits = (double)MAP_BITS;
    return -bits * log1p(-(double)marked / bits) * exp2(skipped);
}

bool fiber_choice_open(int order, const bool *ordered, const struct tile *tile)
{
    for (int n = 0; n < order; n++)
        if (ordered[n] && order - tile[n].modes > 2)
            return true;
    return false;
}

int fiber_lowest(int mode, const struct tile *tile, const struct shape *shape, const double *fibers)
{
    int longest = -1, best = -1;
    for (int n = 0; n < shape->order; n++) {
        if (n == mode || tile_has(tile, n))
            continue;
        if (longest < 0 || shape->dims[n] >= shape->dims[longest])
            longest = n;
        if (best < 0 || fibers[n] < fibers[best])
            best = n;
    }
    return best >= 0 && fibers[best] <= WORTH * fibers[longest] ? best : -1;
}
