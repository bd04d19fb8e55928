/* When a run that begins in single precision goes on in double: where an iteration changes the fit
 * by no more than floats resolve, or than the run asks for, and for the last iteration of all. */
#ifndef BLCO_PRECISION_SWITCH_H
#define BLCO_PRECISION_SWITCH_H

#include "backend/backend.h"

/* Smaller changes of the fit are not told from rounding in single precision. */
#define SINGLE_RESOLVES 1e-6

struct cpals_options;
struct cpals_result;

/* Whether the iterations of b are still those in single precision that others in double follow. */
bool precision_is_first(const struct backend *b);

/* Between two iterations: the backend goes on in double where that is due after those of *result.
 * All ranks do so after the same iteration, since their fits are the same. Errors of backend_widen.
 */
enum status precision_switch(struct backend *b, const struct cpals_options *options,
                             const struct cpals_result *result, struct error *error);

#endif
