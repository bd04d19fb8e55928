#include "problem/problem.h"

const struct word acceleration_words[] = {{"auto", ACCELERATE_AUTO},
                                          {"off", ACCELERATE_OFF},
                                          {"momentum", ACCELERATE_MOMENTUM},
                                          {NULL, 0}};

const struct word precision_words[] = {
    {"double", POLICY_DOUBLE}, {"single", POLICY_SINGLE}, {"auto", POLICY_AUTO}, {NULL, 0}};

enum precision precision_first(enum precision_policy policy)
{
    return policy == POLICY_DOUBLE ? PRECISION_DOUBLE : PRECISION_SINGLE;
}

enum precision precision_last(enum precision_policy policy)
{
    return policy == POLICY_SINGLE ? PRECISION_SINGLE : PRECISION_DOUBLE;
}
