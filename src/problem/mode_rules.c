#include "problem/mode_rules.h"

double mode_rules_largest_ridge(const struct mode_rules *r, int order)
{
    double largest = 0;
    for (int n = 0; n < order; n++)
        largest = r->ridge[n] > largest ? r->ridge[n] : largest;
    return largest;
}

int mode_rules_last(const struct mode_rules *r, int order)
{
    int n = order - 1;
    while (n >= 0 && r->fixed[n])
        n--;
    return n;
}

int mode_rules_first(const struct mode_rules *r, int order)
{
    int n = 0;
    while (n < order && r->fixed[n])
        n++;
    return n;
}

bool mode_rules_begins(const struct mode_rules *r, int order, int n)
{
    return !r->fixed[n] && (n != mode_rules_first(r, order) || r->nonneg[n]);
}

bool mode_rules_any(const bool *flag)
{
    return mode_rules_bits(flag) != 0;
}

unsigned mode_rules_bits(const bool *flag)
{
    unsigned bits = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        bits |= (unsigned)flag[n] << n;
    return bits;
}

void mode_rules_flags(bool *flag, unsigned bits)
{
    for (int n = 0; n < MAX_ORDER; n++)
        flag[n] = bits >> n & 1;
}
