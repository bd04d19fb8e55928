/* The tables of several starts and of several ranks. Implemented in cpd_starts.c and cpd_sweep.c.
 */
#ifndef BLCO_CPD_STARTS_H
#define BLCO_CPD_STARTS_H

#include "als/rank_choice.h"
#include "base/progress.h"

/* A table of the starts; nothing where one was asked for. */
void cpd_tell_starts(struct progress *to, const struct starts *starts);

/* A table of the ranks with bars for fit and core consistency, and the rank that they suggest;
 * nothing where no rank has a model. `more`: not all ranks that were asked for are in outcome
 * (count). The models have the stems `stem`.r8, ...; NULL: they were not written. */
void cpd_tell_ranks(struct progress *to, const struct rank_outcome *outcome, int count, bool more,
                    const char *stem);

#endif
