/* What the backends decide alike about a sweep over all modes of a tensor that is in their memory:
 * which orderings are built, how conflicts of each MTTKRP are resolved, and which steps lead to M
 * of a mode. Groups of modes that share partial products (mode_groups.h) make the tensor a reduced
 * one, with one mode for each group; the tuples of a group of several modes are a small tensor of
 * their own. A backend only executes. */
#ifndef BLCO_SWEEP_STEPS_H
#define BLCO_SWEEP_STEPS_H

#include <stdbool.h>

#include "plan/partial_cache.h"
#include "plan/plan.h"

struct sweep {
    struct mode_groups groups;
    bool shared;                       /* some group has several modes                          */
    bool alto;                         /* orderings of the reduced tensor: alto is built ...    */
    bool ordered[MAX_ORDER];           /* ... and `mode g`, for each group g that says so       */
    enum conflict conflict[MAX_ORDER]; /* of the reduced tensor's MTTKRP, per group             */
    struct partial_cache cache;        /* partial products that are of the factors as they stand */
};

/* Whether modes may share partial products: the request wants that, and the plan has room for every
 * mode's own ordering, which is more than groups take. */
bool sweep_may_share(const struct plan *plan);

/* Fills *s for these groups; mode_groups_none is the sweep of a plan without sharing. */
void sweep_decide(struct sweep *s, const struct plan *plan, const struct mode_groups *groups);

enum sweep_action {
    SWEEP_PRODUCTS, /* the products of the rows of the group's own factors, one for each tuple    */
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

/* The steps to M of `mode`, in their order. What they make counts as current from then on: where a
 * step fails, sweep_restart is due. */
struct sweep_steps sweep_steps(struct sweep *s, int mode);

/* The factor of `mode` has changed. */
void sweep_changed(struct sweep *s, int mode);

/* Nothing that was made counts any more. */
void sweep_restart(struct sweep *s);

#endif
