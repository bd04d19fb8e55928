#include "als/precision_switch.h"

#include <math.h>

bool precision_is_first(const struct backend *b)
{
    return b->single_first && b->precision == PRECISION_SINGLE;
}

/* The first change is that from no fit at all. */
static bool is_due(const struct precision_progress *run)
{
    const double small = fmax(fmax(run->tolerance, SINGLE_RESOLVES), run->noise);
    return run->iterations + 1 >= run->most || (run->iterations > 1 && fabs(run->change) <= small);
}

enum status precision_switch(struct backend *b, const struct precision_progress *run,
                             struct error *error)
{
    return precision_is_first(b) && is_due(run) ? backend_widen(b, error) : STATUS_OK;
}
