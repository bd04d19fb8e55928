/* The table of a range of -r. */
#ifndef BLCO_CPD_RANGE_H
#define BLCO_CPD_RANGE_H

#include "als/rank_choice.h"
#include "base/progress.h"

/* Shows each rank's fit and core consistency with bars, and the rank that they suggest; nothing
 * where no rank has a model. `more`: not all ranks that were asked for are in outcome (count). The
 * models have the stems `stem`.r8, ...; NULL: they were not written. */
void cpd_range_show(struct progress *to, const struct rank_outcome *outcome, int count, bool more,
                    const char *stem);

#endif
