/* Which of several ranks the models of a tensor speak for. */
#ifndef BLCO_RANK_CHOICE_H
#define BLCO_RANK_CHOICE_H

#include "als/starts.h"

/* The core consistency of a model whose components mean something: Bro and Kiers 2003 call one
 * above 90 very trilinear, one around 50 problematic. */
#define RANK_CHOICE_CORE 80

/* What the models of one rank have come to. */
struct rank_outcome {
    uint64_t rank;
    double fit; /* of the best start                                                           */
    struct core_consistency core; /* likewise                                                  */
    struct starts_agreement agreement;
    struct error failure; /* why there is no model; else empty                                 */
};

/* The place in outcome (count) of the largest rank whose core consistency is known and
 * RANK_CHOICE_CORE or more, and with whose best start at least half of the other starts agree; -1
 * where there is none. */
int rank_choice(const struct rank_outcome *outcome, int count);

#endif
