#include "als/rank_choice.h"

static bool is_sound(const struct rank_outcome *o)
{
    return o->core.state == CORE_KNOWN && o->core.percent >= RANK_CHOICE_CORE &&
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
