#include "als/rank_choice.h"

#include <stdio.h>
#include <string.h>

struct rank_outcome rank_outcome(uint64_t rank, const struct runs *runs,
                                 const struct split_half *halves, const struct error *failure)
{
    struct rank_outcome o = {.rank = rank, .failure = *failure};
    if (failure->status != STATUS_OK)
        return o;
    o.result = runs_best(runs, 0)->result;
    o.agreement = starts_agreement(&runs->starts[0]);
    o.ridge = runs->ridge.best;
    o.halves.asked = halves->halves.mode > 0;
    o.halves.known = o.halves.asked && halves->state == HALVES_COMPARED;
    o.halves.score = halves->match.score;
    o.halves.alike = halves->alike;
    return o;
}

unsigned rank_known(const struct rank_outcome *outcome, int count)
{
    unsigned known = 0;
    for (int i = 0; i < count; i++) {
        const struct rank_outcome *o = &outcome[i];
        known |= (o->failure.status == STATUS_OK ? RANKS_MODEL : 0u) |
                 (o->result.core.state == CORE_KNOWN ? RANKS_CORE : 0u) |
                 (o->result.holdout_error.entries > 0 ? RANKS_HOLDOUT : 0u) |
                 (o->agreement.others > 0 ? RANKS_AGREEMENT : 0u) |
                 (o->halves.asked ? RANKS_HALVES : 0u) | (o->ridge > 0 ? RANKS_RIDGE : 0u);
    }
    return known;
}

static bool is_sound(const struct rank_outcome *o)
{
    const struct core_consistency *core = &o->result.core;
    return core->state == CORE_KNOWN && core->percent >= CORE_SOUND &&
           2 * o->agreement.agree >= o->agreement.others;
}

static bool is_alike(const struct rank_outcome *o)
{
    return o->halves.known && o->halves.alike == o->rank;
}

/* The index of the largest rank that is so; -1 if there is none. */
static int largest(const struct rank_outcome *outcome, int count,
                   bool (*is_so)(const struct rank_outcome *o))
{
    int choice = -1;
    for (int i = 0; i < count; i++)
        if (is_so(&outcome[i]) && (choice < 0 || outcome[i].rank > outcome[choice].rank))
            choice = i;
    return choice;
}

int rank_choice(const struct rank_outcome *outcome, int count)
{
    return largest(outcome, count, is_sound);
}

int rank_choice_halves(const struct rank_outcome *outcome, int count)
{
    return largest(outcome, count, is_alike);
}

int rank_choice_holdout(const struct rank_outcome *outcome, int count)
{
    int best = -1, choice = -1;
    for (int i = 0; i < count; i++) {
        const struct holdout_error *holdout = &outcome[i].result.holdout_error;
        if (holdout->entries > 0 &&
            (best < 0 || holdout->value < outcome[best].result.holdout_error.value))
            best = i;
    }
    for (int i = 0; best >= 0 && i < count; i++) {
        const struct holdout_error *holdout = &outcome[i].result.holdout_error;
        const struct holdout_error *least = &outcome[best].result.holdout_error;
        const bool near = holdout->entries > 0 && holdout->value <= least->value + least->error;
        if (near && (choice < 0 || outcome[i].rank < outcome[choice].rank))
            choice = i;
    }
    return choice;
}

/* text (RANK_CHOICE_TEXT) = a sentence about the choice of the largest rank "with ...", or "all of
 * whose ..."; no other "has ...". */
static uint64_t suggest_largest(const struct rank_outcome *outcome, int count, int choice,
                                const char *why, const char *has, char *text)
{
    if (choice < 0 || outcome[choice].rank == 1) {
        snprintf(text, RANK_CHOICE_TEXT, "no rank above 1 is suggested: none has %s", has);
        return 0;
    }
    snprintf(text, RANK_CHOICE_TEXT, "rank %ju is suggested: the largest of these %s%s",
             (uintmax_t)outcome[choice].rank, why,
             choice == count - 1 ? "; larger ones may do as well" : "");
    return outcome[choice].rank;
}

uint64_t rank_suggestion(const struct rank_outcome *outcome, int count, char *text)
{
    const unsigned known = rank_known(outcome, count);
    char with[160];
    if (known & RANKS_HALVES)
        return suggest_largest(outcome, count, rank_choice_halves(outcome, count),
                               "all of whose components are alike in both halves",
                               "components that are all alike in both halves", text);
    if (known & RANKS_HOLDOUT) {
        const int choice = rank_choice_holdout(outcome, count);
        snprintf(text, RANK_CHOICE_TEXT,
                 "rank %ju is suggested: the smallest of these whose held-out error is within its "
                 "standard error of the least%s",
                 (uintmax_t)outcome[choice].rank,
                 choice == count - 1 ? "; larger ones may do better" : "");
        return outcome[choice].rank;
    }
    if (!(known & RANKS_CORE)) {
        snprintf(text, RANK_CHOICE_TEXT,
                 "no rank above 1 is suggested: no core consistency is known; --holdout 0.1 or "
                 "--split-half MODE compares ranks by other means");
        return 0;
    }
    snprintf(with, sizeof with, "with a core consistency of %d or more%s", CORE_SOUND,
             known & RANKS_AGREEMENT ? " and the agreement of at least half of the other starts"
                                     : "");
    return suggest_largest(outcome, count, rank_choice(outcome, count), with,
                           with + strlen("with "), text);
}
