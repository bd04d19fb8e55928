/* Finds what the user should know about options and a result (findings.h). Each function adds to
 * the list; the manual blco-cpd(1) explains every sentence. */
#ifndef BLCO_RESULT_FINDINGS_H
#define BLCO_RESULT_FINDINGS_H

#include "als/findings.h"
#include "als/starts.h"

/* Whether a decomposition says little: one mode only, or a mode shorter than the rank. */
void find_in_shape(struct findings *f, const struct shape *shape, uint64_t rank);

/* Where listed zeros count: how many (or COO_NOT_KNOWN) the file of this name lacks. */
void find_dropped_zeros(struct findings *f, uint64_t dropped, const char *tensor);

/* Whether single precision does not resolve the tolerance. */
void find_in_tolerance(struct findings *f, const struct backend_options *options, double tolerance);

/* Whether a result has converged, how many digits of its fit can be trusted, whether the fit fell,
 * which components mean nothing, whether memory had room for momentum, and the core consistency. */
void find_in_result(struct findings *f, const struct cpals_result *result,
                    const struct backend_options *options, const struct cpals_options *als);

/* How far the starts agree, or, for one start that was not `given`, that this is not known. */
void find_in_starts(struct findings *f, const struct starts *starts, bool given);

#endif
