/* What the user asks of each mode's factor matrix. */
#ifndef BLCO_MODE_RULES_H
#define BLCO_MODE_RULES_H

#include <stdbool.h>

#include "tensor/shape.h"

/* Zero asks for nothing. */
struct mode_rules {
    double ridge[MAX_ORDER]; /* what is added to the diagonal of V                     */
    bool nonneg[MAX_ORDER];  /* no entry is negative                                   */
    bool fixed[MAX_ORDER];   /* the factor matrix stays as it was loaded               */
};

/* The largest ridge of the first `order` modes. */
double mode_rules_largest_ridge(const struct mode_rules *r, int order);

/* The last of `order` modes that is updated; -1 where all are fixed. */
int mode_rules_last(const struct mode_rules *r, int order);

/* The first of `order` modes that is updated; `order` where all are fixed. */
int mode_rules_first(const struct mode_rules *r, int order);

/* Whether a sweep over `order` modes begins with the old factor matrix of mode n: false where the
 * mode is fixed, or solved first. A nonnegative one is never solved but improved, from the old. */
bool mode_rules_begins(const struct mode_rules *r, int order, int n);

/* Whether one of the flags (MAX_ORDER) is set. */
bool mode_rules_any(const bool *flag);

/* Bit n is the flag of mode n, and back. */
unsigned mode_rules_bits(const bool *flag);
void mode_rules_flags(bool *flag, unsigned bits);

#endif
