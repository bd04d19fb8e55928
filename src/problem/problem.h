/* What the user asks of a decomposition, decided once. */
#ifndef BLCO_PROBLEM_H
#define BLCO_PROBLEM_H

#include "base/words.h"
#include "numerics/precision.h"
#include "problem/mode_rules.h"

/* Whether sweeps are extrapolated (als/momentum.h). Auto: yes, unless the memory for that would
 * change how some rank holds the tensor. */
enum acceleration { ACCELERATE_OFF, ACCELERATE_MOMENTUM, ACCELERATE_AUTO };
extern const struct word acceleration_words[];

/* The precision of the factor matrices in a run. Auto: single at first, double in the end. */
enum precision_policy { POLICY_DOUBLE, POLICY_SINGLE, POLICY_AUTO };
extern const struct word precision_words[];

/* The precision in which a run begins, and the one in which it ends. */
enum precision precision_first(enum precision_policy policy);
enum precision precision_last(enum precision_policy policy);

/* Zero is the default of every field but the rank. */
struct problem {
    uint64_t rank;           /* components of the model */
    struct mode_rules rules; /* of each mode            */
    enum precision_policy precision;
    enum acceleration acceleration;
};

/* A member of a problem whose values have words, as the option of this name takes them. Records
 * show it, and a checkpoint goes on only with the value that it has. */
struct problem_choice {
    const char *name; /* of the option, without --, and in records; NULL ends the table */
    const struct word *words;
    size_t at; /* of the member, an enum, in struct problem */
};
extern const struct problem_choice problem_choices[];

/* The word of p's value. */
const char *problem_word(const struct problem *p, const struct problem_choice *c);

#endif
