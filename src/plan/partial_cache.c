#include "plan/partial_cache.h"

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
