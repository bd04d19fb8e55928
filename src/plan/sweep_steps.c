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
    struct partial_steps needed = partial_cache_steps(&s->cache, &s->groups, mode);
    struct sweep_steps steps = {0};
    for (int g = 0; g < s->groups.groups; g++)
        if (needed.products[g])
            add_step(&steps, SWEEP_PRODUCTS, g);
    if (needed.reduced)
        add_step(&steps, SWEEP_REDUCED, needed.group);
    if (needed.tuples)
        add_step(&steps, SWEEP_TUPLES, needed.group);
    return steps;
}

void sweep_changed(struct sweep *s, int mode)
{
    partial_cache_changed(&s->cache, &s->groups, mode);
}

void sweep_restart(struct sweep *s)
{
    s->cache = (struct partial_cache){0};
}

struct partial_steps partial_cache_steps(struct partial_cache *t, const struct mode_groups *g,
                                         int mode)
{
    struct partial_steps steps = {.group = mode_groups_of(g, mode)};
    steps.tuples = mode_groups_size(g, steps.group) > 1;
    steps.reduced = !steps.tuples || !t->partial[steps.group];
    t->partial[steps.group] = steps.tuples;
    for (int k = 0; k < g->groups && steps.reduced; k++)
        if (k != steps.group && mode_groups_size(g, k) > 1) {
            steps.products[k] = !t->products[k];
            t->products[k] = true;
        }
    return steps;
}

void partial_cache_changed(struct partial_cache *t, const struct mode_groups *g, int mode)
{
    int group = mode_groups_of(g, mode);
    t->products[group] = false;
    for (int k = 0; k < g->groups; k++)
        if (k != group)
            t->partial[k] = false;
}
