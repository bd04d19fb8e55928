#include "als/rank_choice.h"

#include <stdio.h>

static bool is_sound(const struct rank_outcome *o)
{
    const struct core_consistency *core = &o->result.core;
    return core->state == CORE_KNOWN && core->percent >= CORE_SOUND &&
           2 * o->agreement.agree >= o->agreement.others;
}

int rank_choice(const struct rank_outcome *outcome, int count)
{
    int choice = -1;
    for (int i = 0; i < count; i++)
        if (is_sound(&outcome[i]) && (choice < 0 || outcome[i].rank > outcome[choice].rank))
            choice = i;
    return choice;
}

bool rank_any_halves(const struct rank_outcome *outcome, int count)
{
    int i = 0;
    while (i < count && !outcome[i].halves.asked)
        i++;
    return i < count;
}

int rank_choice_halves(const struct rank_outcome *outcome, int count)
{
    int choice = -1;
    for (int i = 0; i < count; i++) {
        const struct halves_outcome *halves = &outcome[i].halves;
        const bool found = halves->known && halves->alike == outcome[i].rank;
        if (found && (choice < 0 || outcome[i].rank > outcome[choice].rank))
            choice = i;
    }
    return choice;
}

bool rank_any_core(const struct rank_outcome *outcome, int count)
{
    int i = 0;
    while (i < count && outcome[i].result.core.state != CORE_KNOWN)
        i++;
    return i < count;
}

bool rank_any_held(const struct rank_outcome *outcome, int count)
{
    int i = 0;
    while (i < count && outcome[i].result.held.entries == 0)
        i++;
    return i < count;
}

int rank_choice_held(const struct rank_outcome *outcome, int count)
{
    int best = -1, choice = -1;
    for (int i = 0; i < count; i++) {
        const struct held_error *held = &outcome[i].result.held;
        if (held->entries > 0 && (best < 0 || held->value < outcome[best].result.held.value))
            best = i;
    }
    for (int i = 0; best >= 0 && i < count; i++) {
        const struct held_error *held = &outcome[i].result.held;
        const struct held_error *least = &outcome[best].result.held;
        const bool near = held->entries > 0 && held->value <= least->value + least->error;
        if (near && (choice < 0 || outcome[i].rank < outcome[choice].rank))
            choice = i;
    }
    return choice;
}

bool rank_any_model(const struct rank_outcome *outcome, int count)
{
    int i = 0;
    while (i < count && outcome[i].failure.status != STATUS_OK)
        i++;
    return i < count;
}

bool rank_any_agreement(const struct rank_outcome *outcome, int count)
{
    int i = 0;
    while (i < count && outcome[i].agreement.others <= 0)
        i++;
    return i < count;
}

static uint64_t suggestion_held(const struct rank_outcome *outcome, int count, char *text)
{
    const int choice = rank_choice_held(outcome, count);
    snprintf(text, RANK_CHOICE_TEXT,
             "rank %ju is suggested: the smallest of these whose held-out error is within its "
             "standard error of the least%s",
             (uintmax_t)outcome[choice].rank,
             choice == count - 1 ? "; larger ones may do better" : "");
    return outcome[choice].rank;
}

/* A choice of the largest rank that has a property. */
struct largest {
    int choice;        /* -1: no rank has it              */
    char why[160];     /* "with ...", after a noun          */
    char lacking[160]; /* "has no ...", of ranks without it */
};

static uint64_t suggestion_largest(const struct rank_outcome *outcome, int count,
                                   const struct largest *l, char *text)
{
    if (l->choice < 0 || outcome[l->choice].rank == 1) {
        snprintf(text, RANK_CHOICE_TEXT, "no rank above 1 is suggested: none %s", l->lacking);
        return 0;
    }
    snprintf(text, RANK_CHOICE_TEXT, "rank %ju is suggested: the largest of these %s%s",
             (uintmax_t)outcome[l->choice].rank, l->why,
             l->choice == count - 1 ? "; larger ones may do as well" : "");
    return outcome[l->choice].rank;
}

static uint64_t suggestion_halves(const struct rank_outcome *outcome, int count, char *text)
{
    const struct largest l = {.choice = rank_choice_halves(outcome, count),
                              .why = "all of whose components are alike in both halves",
                              .lacking = "has components that are all alike in both halves"};
    return suggestion_largest(outcome, count, &l, text);
}

static uint64_t suggestion_core(const struct rank_outcome *outcome, int count, char *text)
{
    const char *agree = rank_any_agreement(outcome, count)
                            ? " and the agreement of at least half of the other starts"
                            : "";
    struct largest l = {.choice = rank_choice(outcome, count)};
    if (!rank_any_core(outcome, count)) {
        snprintf(text, RANK_CHOICE_TEXT,
                 "no rank above 1 is suggested: no core consistency is known; --holdout 0.1 or "
                 "--split-half MODE compares ranks by other means");
        return 0;
    }
    snprintf(l.why, sizeof l.why, "with a core consistency of %d or more%s", CORE_SOUND, agree);
    snprintf(l.lacking, sizeof l.lacking, "has a core consistency of %d or more%s", CORE_SOUND,
             agree);
    return suggestion_largest(outcome, count, &l, text);
}

uint64_t rank_suggestion(const struct rank_outcome *outcome, int count, char *text)
{
    if (rank_any_halves(outcome, count))
        return suggestion_halves(outcome, count, text);
    if (rank_any_held(outcome, count))
        return suggestion_held(outcome, count, text);
    return suggestion_core(outcome, count, text);
}
