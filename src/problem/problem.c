#include "problem/problem.h"

const struct word acceleration_words[] = {{"auto", ACCELERATE_AUTO},
                                          {"off", ACCELERATE_OFF},
                                          {"momentum", ACCELERATE_MOMENTUM},
                                          {NULL, 0}};

const struct word precision_words[] = {{"double", PRECISION_DOUBLE},
                                       {"single", PRECISION_SINGLE},
                                       {"auto", PRECISION_AUTO},
                                       {NULL, 0}};

enum precision problem_first_precision(const struct problem *p)
{
    return p->single_first ? PRECISION_SINGLE : p->precision;
}

const char *precision_of_run(enum precision precision, bool single_first)
{
    return word_of(precision_words, single_first ? PRECISION_AUTO : (int)precision);
}
