/* Which tables of a sweep with mode groups (mode_groups.h) are current, that is, of the factors as
 * they are now, and so which of them an MTTKRP has to compute first. A group of several modes has
 * two tables with a row per tuple: the products of its own factors' rows, and its partial products,
 * which hold all other factors and none of its own. */
#ifndef BLCO_PARTIAL_CACHE_H
#define BLCO_PARTIAL_CACHE_H

#include <stdbool.h>

#include "plan/mode_groups.h"

struct partial_cache {
    bool products[MAX_ORDER], partial[MAX_ORDER]; /* per group: current. Zeroed: none is */
};

/* The steps to M of a mode, in this order. */
struct partial_steps {
    int group;                /* the group of the mode                                       */
    bool products[MAX_ORDER]; /* compute the products of these groups; none unless `outer`   */
    bool outer;               /* MTTKRP of the reduced tensor for `group`: its partial
                               * products, or M where the group is one mode                  */
    bool inner;               /* MTTKRP of the group's tuples with its partial products: M   */
};

/* The steps to M of `mode`. Their tables count as current from now on, so the caller zeroes *t
 * where a step fails. */
struct partial_steps partial_cache_steps(struct partial_cache *t, const struct mode_groups *g,
                                         int mode);

/* To be called whenever the factor of `mode` has changed. */
void partial_cache_changed(struct partial_cache *t, const struct mode_groups *g, int mode);

#endif
