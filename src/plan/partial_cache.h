/* Which tables of a sweep with mode groups (mode_groups.h) are current, that is, made from the
 * factors as they are now, and so which tables must be computed before an MTTKRP. A group of
 * several modes has two tables with a row per tuple: the products of its own factors' rows, and its
 * partial products, which depend on all factors but its own. */
#ifndef BLCO_PARTIAL_CACHE_H
#define BLCO_PARTIAL_CACHE_H

#include <stdbool.h>

#include "plan/mode_groups.h"

struct partial_cache {
    bool products[MAX_ORDER], partial[MAX_ORDER]; /* [g]: whether the table of group g is current */
};

/* The steps to M of a mode, in the order of the fields. */
struct partial_steps {
    int group;                /* the group of the mode                                       */
    bool products[MAX_ORDER]; /* compute the products of these groups; none unless `reduced`   */
    bool reduced;             /* MTTKRP of the reduced tensor for `group`: its partial
                               * products, or M where the group is one mode                  */
    bool tuples;              /* MTTKRP of the group's tuples with its partial products: M   */
};

/* The steps to M of `mode`. The tables that these steps make count as current from now on; where a
 * step fails, the caller zeroes *t, so that no table is current. A new *t is zeroed too. */
struct partial_steps partial_cache_steps(struct partial_cache *t, const struct mode_groups *g,
                                         int mode);

/* Must be called whenever the factor of `mode` has changed. */
void partial_cache_changed(struct partial_cache *t, const struct mode_groups *g, int mode);

#endif
