#include "als/rank_choice.h"

#include <stdio.h>
#include <string.h>

struct rank_outcome rank_outcome(uint64_t rank, const struct runs *runs,
                                 struct replication *replication, const struct error *failure)
{
    struct rank_outcome o = {.rank = rank, .failure = *failure};
    if (failure->status != STATUS_OK)
        return o;
    o.result = runs_best(runs, 0)->result;
    o.agreement = starts_agreement(&runs->starts[0]);
    o.ridge = runs->ridge.best;
    o.replication = (struct replication_outcome){
        .asked = replication->parts.mode > 0,
        .halves = slice_parts_are_halves(&replication->parts),
        .known = replication->parts.mode > 0 && replication->state == REPLICATION_WHOLE,
        .pairs = replication->pairs,
        .score = replication->score,
        .least = replication->least,
        .median = replication->median,
        .alike = replication->alike};
    replication->score = NULL;
    return o;
}

unsigned rank_known(const struct rank_outcome *outcome, int count)
{
    unsigned known = 0;
    for (int i = 0; i < count; i++) {
        const struct rank_outcome *o = &outcome[i];
        known |= (o->failure.status == STATUS_OK ? RANKS_MODEL : 0u) |
                 (core_consistency_tells(&o->result.core) ? RANKS_CORE : 0u) |
                 (o->result.holdout_error.entries > 0 ? RANKS_HOLDOUT : 0u) |
                 (o->agreement.others > 0 ? RANKS_AGREEMENT : 0u) |
                 (o->replication.asked ? RANKS_REPLICATES : 0u) |
                 (o->replication.halves ? RANKS_TWO_HALVES : 0u) |
                 (o->ridge > 0 ? RANKS_RIDGE : 0u);
    }
    return known;
}

/* Whether starts that fit as well have other components, no fewer than have the best one's. */
static bool is_contradicted(const struct rank_outcome *o)
{
    return o->agreement.different > 0 && o->agreement.different >= o->agreement.agree;
}

bool rank_found_again(const struct rank_outcome *o, unsigned known)
{
    if (o->failure.status != STATUS_OK || is_contradicted(o))
        return false;
    if (known & RANKS_REPLICATES)
        return o->replication.known && o->replication.alike == o->rank;
    if (!(known & RANKS_AGREEMENT))
        return true;
    return o->agreement.agree > 0 &&
           (known & RANKS_HOLDOUT || 2 * o->agreement.agree >= o->agreement.others);
}

/* The smallest rank whose held-out error is no more than its standard error above the least (L.
 * Breiman et al.: Classification and regression trees, 1984, section 3.4.3), of all or of those
 * that are found again; NULL if there is none. */
static const struct rank_outcome *smallest_near(const struct rank_outcome *outcome, int count,
                                                bool all)
{
    const unsigned known = rank_known(outcome, count);
    const struct rank_outcome *best = NULL, *choice = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            const struct rank_outcome *o = &outcome[i];
            const struct holdout_error *e = &o->result.holdout_error;
            if (e->entries == 0 || !(all || rank_found_again(o, known)))
                continue;
            if (pass == 0 && (!best || e->value < best->result.holdout_error.value))
                best = o;
            if (pass == 1 &&
                e->value <= best->result.holdout_error.value + best->result.holdout_error.error &&
                (!choice || o->rank < choice->rank))
                choice = o;
        }
    return choice;
}

/* The largest rank that is found again or, where none was sought again, has a sound core; NULL if
 * there is none above 1. */
static const struct rank_outcome *largest(const struct rank_outcome *outcome, int count)
{
    const unsigned known = rank_known(outcome, count);
    const bool sought = known & (RANKS_AGREEMENT | RANKS_REPLICATES);
    const struct rank_outcome *choice = NULL;
    for (int i = 0; i < count; i++) {
        const struct rank_outcome *o = &outcome[i];
        const bool good = sought ? rank_found_again(o, known)
                                 : core_consistency_tells(&o->result.core) &&
                                       o->result.core.percent >= CORE_SOUND;
        if (good && o->rank > 1 && (!choice || o->rank > choice->rank))
            choice = o;
    }
    return choice;
}

struct rank_choice rank_choose(const struct rank_outcome *outcome, int count)
{
    const unsigned known = rank_known(outcome, count);
    struct rank_choice c = {.rule = known & RANKS_HOLDOUT                          ? RANK_HOLDOUT
                                    : known & (RANKS_AGREEMENT | RANKS_REPLICATES) ? RANK_FOUND
                                                                                   : RANK_CORE};
    const bool held = c.rule == RANK_HOLDOUT;
    const struct rank_outcome *choice =
        held ? smallest_near(outcome, count, false) : largest(outcome, count);
    const struct rank_outcome *alone = held ? smallest_near(outcome, count, true) : NULL;
    c.rank = choice ? choice->rank : 0;
    c.holdout = alone ? alone->rank : 0;
    if (held && c.rank == 1 && c.holdout > 1)
        c.rank = 0;
    return c;
}

/* Which runs find models again, as "other starts and both halves"; without the starts if none of
 * them has. */
static const char *finders(unsigned known, bool starts)
{
    if (known & RANKS_TWO_HALVES)
        return starts ? "other starts and both halves" : "both halves";
    if (known & RANKS_REPLICATES)
        return starts ? "other starts and all replicates" : "all replicates";
    return known & RANKS_HOLDOUT ? "other starts" : "at least half of the other starts";
}

static const struct rank_outcome *outcome_of(const struct rank_outcome *outcome, int count,
                                             uint64_t rank)
{
    for (int i = 0; i < count; i++)
        if (outcome[i].rank == rank)
            return &outcome[i];
    return NULL;
}

/* Why a rank is no candidate, as ", but no other start finds its model again"; empty if it is one.
 */
static const char *why_not(const struct rank_outcome *o, unsigned known)
{
    return rank_found_again(o, known) ? ""
           : is_contradicted(o)       ? ", but starts that fit as well have other components"
           : known & RANKS_TWO_HALVES ? ", but not all of its components are in both halves"
           : known & RANKS_REPLICATES ? ", but replicates do not find all of its components again"
                                      : ", but no other start finds its model again";
}

/* Whether starts were compared, and more could be. */
static bool few_starts(const struct rank_outcome *outcome, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        most = outcome[i].agreement.others > most ? outcome[i].agreement.others : most;
    return most > 0 && most + 1 < STARTS_MOST;
}

uint64_t rank_suggestion(const struct rank_outcome *outcome, int count, char *text)
{
    const struct rank_choice c = rank_choose(outcome, count);
    const struct rank_outcome *o = outcome_of(outcome, count, c.rank),
                              *alone = outcome_of(outcome, count, c.holdout);
    const unsigned known = rank_known(outcome, count);
    const bool sought = known & (RANKS_AGREEMENT | RANKS_REPLICATES);
    char found[96] = "the", also[128] = "", core[64];
    const char *which = sought ? "such rank" : "of these", *larger = "";
    snprintf(core, sizeof core, " with a core consistency of %d or more", CORE_SOUND);
    if (o && o == &outcome[count - 1])
        larger =
            c.rule == RANK_HOLDOUT ? "; larger ones may do better" : "; larger ones may do as well";
    if (sought && o)
        snprintf(found, sizeof found, "%s find its model again, and it is the",
                 finders(known, o->agreement.agree > 0));
    if (alone && alone != o)
        snprintf(also, sizeof also, "the held-out error alone says %ju%s", (uintmax_t)alone->rank,
                 why_not(alone, known));
    if (o && c.rule == RANK_HOLDOUT)
        snprintf(text, RANK_CHOICE_TEXT,
                 "rank %ju is suggested: %s smallest %s whose held-out error is within its "
                 "standard error of the least%s%s%s",
                 (uintmax_t)c.rank, found, which, larger, *also ? "; " : "", also);
    else if (o)
        snprintf(text, RANK_CHOICE_TEXT, "rank %ju is suggested: %s largest %s%s%s",
                 (uintmax_t)c.rank, found, which, sought ? "" : core, larger);
    else if (sought)
        snprintf(text, RANK_CHOICE_TEXT, "no rank above 1 is suggested: %s%s%s",
                 alone ? also : "none is found again by ",
                 alone ? "" : finders(known, known & RANKS_AGREEMENT),
                 few_starts(outcome, count) ? "; --starts auto makes more starts" : "");
    else if (known & RANKS_CORE)
        snprintf(text, RANK_CHOICE_TEXT, "no rank above 1 is suggested: none has%s",
                 core + strlen(" with"));
    else
        snprintf(text, RANK_CHOICE_TEXT,
                 "no rank above 1 is suggested: no core consistency is known; --holdout 0.1, "
                 "--starts 5 or --split-half MODE compares ranks by other means");
    return c.rank;
}
