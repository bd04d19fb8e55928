/* What `blco cpd` tells the user at the end: outcome, where the time went, warnings, files. */
#ifndef BLCO_CPD_SUMMARY_H
#define BLCO_CPD_SUMMARY_H

#include "als/cpals.h"
#include "base/progress.h"
#include "commands/cpd_times.h"
#include "model/ktensor_io.h"

/* Warns of a tensor and rank whose decomposition says little: one mode only, or more components
 * than a mode is long. */
void cpd_warn_shape(struct progress *progress, const struct shape *shape, uint64_t rank);

/* Tells the outcome, the times of the stages that took a hundredth of the total or more, the peak
 * memory and the files; with `all_times` the times of all stages, and of MTTKRP and update for each
 * mode. */
void cpd_summarise(struct progress *progress, const struct cpals_result *result,
                   const struct cpd_times *times, int order, bool all_times,
                   const struct ktensor_files *files);

/* Warns where changes of the fit are asked for that single precision does not resolve. */
void cpd_warn_precision(struct progress *progress, const struct backend_options *options,
                        double tolerance);

#endif
