#include "plan/sweep_steps.h"

#include <string.h>

bool sweep_may_group(const struct plan *plan)
{
    return plan->request.group && plan->fits && !plan->streamed && !plan->alto &&
           plan->replicas == plan->request.tensor.shape.order;
}

void sweep_decide(struct sweep *s, const struct plan *plan, const struct mode_groups *groups)
{
    memset(s, 0, sizeof *s);
    s->groups = *groups;
    s->grouped = groups->groups < plan->request.tensor.shape.order;
    s->alto = !s->grouped && plan->alto;
    /* plan->conflict is per mode: group g is mode g, or all modes have orderings of their own. */
    for (int g = 0; g < groups->groups; g++) {
        s->conflict[g] = plan->conflict[g];
        s->ordered[g] = conflict_traits[s->conflict[g]].ordered;
    }
}

static void add_step(struct sweep_steps *steps, enum sweep_action action, int group)
{
    steps->step[steps->count++] = (struct sweep_step){action, group};
}

struct sweep_steps sweep_steps(struct sweep *s, int mode)
{
    const struct mode_groups *g = &s->groups;
    const int group = mode_groups_of(g, mode);
    const bool tuples = mode_groups_size(g, group) > 1, reduced = !tuples || !s->partial[group];
    struct sweep_steps steps = {0};
    s->partial[group] = tuples;
    for (int k = 0; k < g->groups && reduced; k++)
        if (k != group && mode_groups_size(g, k) > 1 && !s->products[k]) {
            s->products[k] = true;
            add_step(&steps, SWEEP_PRODUCTS, k);
        }
    if (reduced)
        add_step(&steps, SWEEP_REDUCED, group);
    if (tuples)
        add_step(&steps, SWEEP_TUPLES, group);
    return steps;
}

void sweep_changed(struct sweep *s, int mode)
{
    const int group = mode_groups_of(&s->groups, mode);
    s->products[group] = false;
    for (int k = 0; k < s->groups.groups; k++)
        if (k != group)
            s->partial[k] = false;
}

void sweep_restart(struct sweep *s)
{
    memset(s->products, 0, sizeof s->products);
    memset(s->partial, 0, sizeof s->partial);
}
