/* The table of several starts. */
#ifndef BLCO_CPD_STARTS_H
#define BLCO_CPD_STARTS_H

#include "als/starts.h"
#include "base/progress.h"

/* Shows each start's seed, iterations, fit and score; nothing where one start was asked for. */
void cpd_starts_show(struct progress *to, const struct starts *starts);

#endif
