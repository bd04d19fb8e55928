/* What the user is told of how far a result can be trusted beyond its fit: several starts, the core
 * consistency, several ranks. Implemented in cpd_starts.c and cpd_sweep.c. */
#ifndef BLCO_CPD_STARTS_H
#define BLCO_CPD_STARTS_H

#include <stddef.h>

#include "als/rank_choice.h"
#include "base/progress.h"

/* A table of the starts, and one sentence of what their scores mean; nothing where one was asked
 * for. */
void cpd_tell_starts(struct progress *progress, const struct starts *starts);

/* The core consistency, or why it is not known; nothing where it was not asked for. */
void cpd_tell_core(struct progress *progress, const struct core_consistency *core);

/* A table of the ranks with bars for fit and core consistency, and the rank that they suggest;
 * nothing where no rank has a model. `more`: not all ranks that were asked for are in outcome
 * (count). The models have the stems `stem`.r8, ...; NULL: they were not written. */
void cpd_tell_ranks(struct progress *progress, const struct rank_outcome *outcome, int count,
                    bool more, const char *stem);

#endif
