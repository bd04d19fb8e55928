/* Which of several ranks the models of a tensor speak for. */
#ifndef BLCO_RANK_CHOICE_H
#define BLCO_RANK_CHOICE_H

#include "als/starts.h"

/* What the models of one rank have come to. */
struct rank_outcome {
    uint64_t rank;
    struct cpals_result result; /* of the best start                                           */
    struct starts_agreement agreement;
    struct error failure; /* why there is no model; else empty                                 */
};

/* The place in outcome (count) of the largest rank whose core consistency is known and CORE_SOUND
 * or more, and with whose best start at least half of the other starts agree; -1 where there is
 * none.
 */
int rank_choice(const struct rank_outcome *outcome, int count);

/* Whether some rank has a model; and whether some rank has had several starts to compare. */
bool rank_any_model(const struct rank_outcome *outcome, int count);
bool rank_any_agreement(const struct rank_outcome *outcome, int count);

#define RANK_CHOICE_TEXT 256

/* The rank that is suggested, 0 where none is: a choice of rank 1, whose core consistency is always
 * 100, says nothing. text (RANK_CHOICE_TEXT) = one sentence that says so, and why. */
uint64_t rank_suggestion(const struct rank_outcome *outcome, int count, char *text);

#endif
