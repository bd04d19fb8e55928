#include "als/precision_switch.h"

#include <math.h>

#include "als/cpals.h"

bool precision_is_first(const struct backend *b)
{
    return b->single_first && b->precision == PRECISION_SINGLE;
}

/* The first change is that from no fit at all. */
static bool is_due(const struct cpals_options *options, const struct cpals_result *result)
{
    const double small = fmax(options->tolerance, SINGLE_RESOLVES);
    return result->iterations + 1 >= options->max_iterations ||
           (result->iterations > 1 && fabs(result->change) <= fmax(small, result->trust.noise));
}

enum status precision_switch(struct backend *b, const struct cpals_options *options,
                             const struct cpals_result *result, struct error *error)
{
    return precision_is_first(b) && is_due(options, result) ? backend_widen(b, error) : STATUS_OK;
}
