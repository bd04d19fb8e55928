/* What `blco cpd` shows at the end: outcome, where the time went, files. */
#ifndef BLCO_CPD_SUMMARY_H
#define BLCO_CPD_SUMMARY_H

#include "commands/cpd/cpd_job.h"

/* Shows the outcome, the times of the stages that took a hundredth of the total or more, the peak
 * memory and the files; with `all_times` the times of all stages, and of MTTKRP and update for each
 * mode. */
void cpd_summarise(struct progress *progress, const struct cpd_results *results, bool all_times);

#endif
