/* Which tables of a sweep with groups of modes (grouping.h) are of the factors as they stand, and
 * so what an MTTKRP is to make. A group of several modes has two tables with a row per tuple: the
 * products of its own factors' rows, and its partial products, which hold all other factors and
 * none of its own. */
#ifndef BLCO_PARTIAL_CACHE_H
#define BLCO_PARTIAL_CACHE_H

#include <stdbool.h>

#include "plan/mode_groups.h"

struct group_tables {
    bool products[MAX_ORDER], partial[MAX_ORDER]; /* current, per group; zeroed: none is */
};

/* What leads to M of a mode, one after the other. */
struct group_steps {
    int group;                /* the mode's                                                */
    bool products[MAX_ORDER]; /* of these groups, if `outer`                               */
    bool outer;               /* MTTKRP of the reduced tensor for `group`: its partial
                               * products, or M where the group is one mode                */
    bool inner;               /* MTTKRP of the group's tuples with its partial products: M */
};

/* The steps to M of `mode`. Their tables count as current from then on: where a step fails, *t is
 * to be zeroed. */
struct group_steps group_tables_steps(struct group_tables *t, const struct grouping *g, int mode);

/* To be said whenever the factor of `mode` has changed. */
void group_tables_changed(struct group_tables *t, const struct grouping *g, int mode);

#endif
