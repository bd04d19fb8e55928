/* What there is to find in what was asked for and in what came of it (findings.h). Each function
 * adds to the list; the manual blco-cpd(1) explains every sentence. */
#ifndef BLCO_RESULT_FINDINGS_H
#define BLCO_RESULT_FINDINGS_H

#include "als/findings.h"
#include "als/starts.h"

/* Of a tensor and a rank whose decomposition says little: one mode only, or more components than a
 * mode is long. */
void find_in_shape(struct findings *f, const struct shape *shape, uint64_t rank);

/* Of changes of the fit that single precision does not resolve. */
void find_in_tolerance(struct findings *f, const struct backend_options *options, double tolerance);

/* Of a result: whether it has converged, how many digits of the fit can be trusted, whether the fit
 * fell, which components mean nothing, whether memory had room for momentum, and the core
 * consistency. */
void find_in_result(struct findings *f, const struct cpals_result *result,
                    const struct backend_options *options, const struct cpals_options *als);

/* Of how far the starts agree; of one start, unless it was `given`, that nothing tells. */
void find_in_starts(struct findings *f, const struct starts *starts, bool given);

#endif
