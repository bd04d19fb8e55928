/* A sweep over all modes of a tensor in a backend's memory, decided here for every backend: which
 * orderings are built, the conflict resolution of each MTTKRP, and the steps to M of a mode. With
 * mode groups (mode_groups.h), the orderings are those of the reduced tensor, which has a mode for
 * each group, and the tuples of a group of several modes are a small tensor. A backend only
 * executes the steps. */
#ifndef BLCO_SWEEP_STEPS_H
#define BLCO_SWEEP_STEPS_H

#include <stdbool.h>

#include "plan/mode_groups.h"
#include "plan/plan.h"

/* Which tables of a sweep with mode groups (mode_groups.h) are current, that is, made from the
 * factors as they are now, and so which tables must be computed before an MTTKRP. A group of
 * several modes has two tables with a row per tuple: the products of its own factors' rows, and its
 * partial products, which depend on all factors but its own. */
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

struct sweep {
    struct mode_groups groups;
    bool grouped;                      /* some group has several modes                          */
    bool alto;                         /* the alto ordering of the reduced tensor is built      */
    bool ordered[MAX_ORDER];           /* [g]: the ordering `mode g` of it is built             */
    enum conflict conflict[MAX_ORDER]; /* [g]: of the reduced tensor's MTTKRP for group g       */
    struct partial_cache cache;        /* which tables are current                              */
};

/* Whether modes may be grouped: the request allows it, and the plan has room for an ordering of
 * every mode; mode groups need fewer. */
bool sweep_may_group(const struct plan *plan);

/* *s = the sweep of this plan with these groups, which may be those of mode_groups_none. */
void sweep_decide(struct sweep *s, const struct plan *plan, const struct mode_groups *groups);

enum sweep_action {
    SWEEP_PRODUCTS, /* for each tuple of the group, the product of the rows of its factors        */
    SWEEP_REDUCED,  /* MTTKRP of the reduced tensor for the group: its partial products, or M where
                     * the group is one mode                                                      */
    SWEEP_TUPLES    /* MTTKRP of the group's tuples, with the partial products as a further factor:
                     * M of the mode                                                              */
};

struct sweep_steps {
    int count;
    struct sweep_step {
        enum sweep_action action;
        int group;
    } step[MAX_ORDER + 2];
};

/* The steps to M of `mode`, in order. The tables that they make count as current from now on; if a
 * step fails, the caller calls sweep_restart. */
struct sweep_steps sweep_steps(struct sweep *s, int mode);

/* Must be called whenever the factor of `mode` has changed. */
void sweep_changed(struct sweep *s, int mode);

/* From now on no table counts as current. */
void sweep_restart(struct sweep *s);

#endif
