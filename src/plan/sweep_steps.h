/* A sweep over all modes of a tensor in a backend's memory, decided here for every backend: which
 * orderings are built, the conflict resolution of each MTTKRP, and the steps to M of a mode. With
 * mode groups (mode_groups.h), the orderings are those of the reduced tensor, which has a mode for
 * each group, and the tuples of a group of several modes are a small tensor. A backend only
 * executes the steps. */
#pragma once

#include <stdbool.h>

#include "plan/mode_groups.h"
#include "plan/plan.h"

/* Of a sweep with mode groups, a group of several modes has two tables with a row per tuple: the
 * products of its own factors' rows, and its partial products, which depend on all factors but its
 * own. A table is current if it was made from the factors as they are now. */
struct sweep {
    struct mode_groups groups;
    bool grouped;                      /* some group has several modes                          */
    bool alto;                         /* the alto ordering of the reduced tensor is built      */
    bool ordered[MAX_ORDER];           /* [g]: the ordering `mode g` of it is built             */
    enum conflict conflict[MAX_ORDER]; /* [g]: of the reduced tensor's MTTKRP for group g       */
    bool products[MAX_ORDER],
        partial[MAX_ORDER]; /* [g]: whether the tables of group g are current */
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
