#include "plan/conflict.h"

const struct word conflict_words[] = {{"auto", CONFLICT_AUTO},
                                      {"ordered", CONFLICT_ORDERED},
                                      {"hierarchical", CONFLICT_HIERARCHICAL},
                                      {"register", CONFLICT_REGISTER},
                                      {"atomic", CONFLICT_ATOMIC},
                                      {NULL, 0}};

const struct conflict_traits conflict_traits[CONFLICTS] = {
    [CONFLICT_ORDERED] = {.ordered = true},
    [CONFLICT_HIERARCHICAL] = {.copied = true},
    [CONFLICT_REGISTER] = {.direct = true},
    [CONFLICT_ATOMIC] = {.each = true},
};

const char *conflict_name(enum conflict c)
{
    return word_of(conflict_words, (int)c);
}

enum conflict conflict_on_alto(enum conflict c)
{
    return conflict_traits[c].ordered ? CONFLICT_REGISTER : c;
}

void conflict_assign(enum conflict *conflict, const struct shape *shape, int replicas,
                     enum conflict on_alto, uint64_t short_mode)
{
    for (int n = 0; n < shape->order; n++)
        conflict[n] = CONFLICT_AUTO;
    for (int i = 0; i < replicas; i++) {
        int longest = -1; /* of the modes that have no ordering of their own */
        for (int n = 0; n < shape->order; n++)
            if (conflict[n] != CONFLICT_ORDERED &&
                (longest < 0 || shape->dims[n] > shape->dims[longest]))
                longest = n;
        conflict[longest] = CONFLICT_ORDERED;
    }
    for (int n = 0; n < shape->order; n++) {
        enum conflict by_length =
            shape->dims[n] < short_mode ? CONFLICT_HIERARCHICAL : CONFLICT_REGISTER;
        if (conflict[n] != CONFLICT_ORDERED)
            conflict[n] = on_alto == CONFLICT_AUTO ? by_length : on_alto;
    }
}
