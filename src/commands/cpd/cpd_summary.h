/* What `blco cpd` shows at the end: outcome, where the time went, files; tables of the starts, of
 * the halves and of a range of -r. */
#ifndef BLCO_CPD_SUMMARY_H
#define BLCO_CPD_SUMMARY_H

#include "als/rank_choice.h"
#include "als/split_half.h"
#include "commands/cpd/cpd_job.h"

/* Shows the outcome, the times of the stages that took a hundredth of the total or more, the peak
 * memory and the files; with `all_times` the times of all stages, and of MTTKRP and update for each
 * mode. */
void cpd_summarise(struct progress *progress, const struct cpd_results *results, bool all_times);

/* Shows each start's seed, iterations, fit and score; nothing where one start was asked for. */
void cpd_starts_show(struct progress *to, const struct starts *starts);

/* Shows for each component of the whole the score of its partners in both halves with each other,
 * its score with each of them, and the cosines of the modes of the first; nothing where the halves
 * were not compared. */
void cpd_halves_show(struct progress *to, const struct split_half *s);

/* Shows each rank's fit and core consistency with bars, and the rank that they suggest; nothing
 * where no rank has a model. `more`: not all ranks that were asked for are in outcome (count). The
 * models have the stems `stem`.r8, ...; NULL: they were not written. */
void cpd_range_show(struct progress *to, const struct rank_outcome *outcome, int count, bool more,
                    const char *stem);

#endif
