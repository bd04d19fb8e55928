/* What `blco cpd` tells the user at the end: outcome, where the time went, files. */
#ifndef BLCO_CPD_SUMMARY_H
#define BLCO_CPD_SUMMARY_H

#include "als/cpals.h"
#include "base/progress.h"
#include "commands/cpd/cpd_times.h"
#include "formats/ktensor/ktensor_io.h"

/* Tells the outcome, the times of the stages that took a hundredth of the total or more, the peak
 * memory and the files; with `all_times` the times of all stages, and of MTTKRP and update for each
 * mode. */
void cpd_summarise(struct progress *progress, const struct cpals_result *result,
                   const struct cpd_times *times, int order, bool all_times,
                   const struct ktensor_files *files);

#endif
