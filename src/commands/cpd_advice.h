/* What the user of `blco cpd` should know of a result beside its fit: how many digits of the fit
 * can be trusted, whether the fit fell, which components mean nothing, and what helps. */
#ifndef BLCO_CPD_ADVICE_H
#define BLCO_CPD_ADVICE_H

#include "als/cpals.h"
#include "base/progress.h"

/* Prints a text line for each thing that there is to know; the manual blco-cpd(1) explains each. */
void cpd_advise(struct progress *progress, const struct cpals_result *result,
                const struct backend_options *options);

#endif
