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

uint64_t rank_suggestion(const struct rank_outcome *outcome, int count, char *text)
{
    int choice = rank_choice(outcome, count);
    bool none = choice < 0 || outcome[choice].rank == 1;
    const char *agree = rank_any_agreement(outcome, count)
                            ? " and the agreement of at least half of the other starts"
                            : "";
    if (none)
        snprintf(text, RANK_CHOICE_TEXT,
                 "no rank above 1 is suggested: none has a core consistency of %d or more%s",
                 CORE_SOUND, agree);
    else
        snprintf(text, RANK_CHOICE_TEXT,
                 "rank %ju is suggested: the largest of these with a core consistency of %d or "
                 "more%s%s",
                 (uintmax_t)outcome[choice].rank, CORE_SOUND, agree,
                 choice == count - 1 ? "; larger ones may do as well" : "");
    return none ? 0 : outcome[choice].rank;
}
