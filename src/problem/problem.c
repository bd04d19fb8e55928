#include "problem/problem.h"

enum precision problem_first_precision(const struct problem *p)
{
    return p->single_first ? PRECISION_SINGLE : p->precision;
}
