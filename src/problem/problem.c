#include "problem/problem.h"

#include <string.h>

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

const struct problem_choice problem_choices[] = {
    {"precision", precision_words, offsetof(struct problem, precision)}, {NULL, NULL, 0}};

const char *problem_word(const struct problem *p, const struct problem_choice *c)
{
    int value;
    _Static_assert(sizeof p->precision == sizeof value, "enums are as large as int");
    memcpy(&value, (const char *)p + c->at, sizeof value);
    return word_of(c->words, value);
}
