/* Which tables of a sweep with groups of modes (mode_groups.h) are of the factors as they stand,
 * and so what an MTTKRP is to make. A group of several modes has two tables with a row per tuple:
 * the products of its own factors' rows, and its partial products, which hold all other factors and
 * none of its own. */
#ifndef BLCO_PARTIAL_CACHE_H
#define BLCO_PARTIAL_CACHE_H

#include <stdbool.h>

#include "plan/mode_groups.h"

struct partial_cache {
    bool products[MAX_ORDER], partial[MAX_ORDER]; /* current, per group; zeroed: none is */
};

/* What leads to M of a mode, one after the other. */
struct partial_steps {
    int group;                /* the mode's                                                */
    bool products[MAX_ORDER]; /* of these groups, if `outer`                               */
    bool outer;               /* MTTKRP of the reduced tensor for `group`: its partial
                               * products, or M where the group is one mode                */
    bool inner;               /* MTTKRP of the group's tuples with its partial products: M */
};

/* The steps to M of `mode`. Their tables count as current from then on: where a step fails, *t is
 * to be zeroed. */
struct partial_steps partial_cache_steps(struct partial_cache *t, const struct mode_groups *g,
                                         int mode);

/* To be said whenever the factor of `mode` has changed. */
void partial_cache_changed(struct partial_cache *t, const struct mode_groups *g, int mode);

#endif
