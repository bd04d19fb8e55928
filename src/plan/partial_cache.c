#include "plan/partial_cache.h"

struct group_steps group_tables_steps(struct group_tables *t, const struct grouping *g, int mode)
{
    struct group_steps steps = {.group = grouping_of(g, mode)};
    steps.inner = grouping_size(g, steps.group) > 1;
    steps.outer = !steps.inner || !t->partial[steps.group];
    t->partial[steps.group] = steps.inner;
    for (int k = 0; k < g->groups && steps.outer; k++)
        if (k != steps.group && grouping_size(g, k) > 1) {
            steps.products[k] = !t->products[k];
            t->products[k] = true;
        }
    return steps;
}

void group_tables_changed(struct group_tables *t, const struct grouping *g, int mode)
{
    int group = grouping_of(g, mode);
    t->products[group] = false;
    for (int k = 0; k < g->groups; k++)
        if (k != group)
            t->partial[k] = false;
}
