#include "als/precision_switch.h"

#include <math.h>

bool precision_is_first(const struct backend *b)
{
    return b->precision != precision_last(b->options.problem.precision);
}

/* The change of the first iteration does not count: there was no fit before. */
bool precision_is_due(const struct backend *b, const struct precision_progress *run)
{
    const double small = fmax(fmax(run->tolerance, SINGLE_RESOLVES), run->noise);
    return precision_is_first(b) && (run->iterations + 1 >= run->most ||
                                     (run->iterations > 1 && fabs(run->change) <= small));
}
