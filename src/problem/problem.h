/* What the user asks of a decomposition, decided once. */
#ifndef BLCO_PROBLEM_H
#define BLCO_PROBLEM_H

#include <stdbool.h>

#include "base/words.h"
#include "numerics/precision.h"
#include "problem/mode_rules.h"
#include "tensor/holdout.h"

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

/* What the ridge X of a mode adds to the squared misfit. Unit: X lambda_r^2 for each component.
 * Balanced: X times the squares of all entries of the mode's factor matrix, where the columns of
 * all modes share the weight lambda_r evenly. Counted: X times the squares of the entries of a row,
 * for each known entry in its slice (ALS-WR: Y. Zhou et al., AAIM 2008). */
enum ridge_scale { RIDGE_UNIT, RIDGE_BALANCED, RIDGE_COUNTED };
extern const struct word ridge_scale_words[];

/* What an entry that the tensor does not list is. */
struct unlisted {
    bool weighed;  /* false: a zero, which counts as a listed entry does, and no listed entry is
                    * unknown (NaN); all else is then unused                                    */
    double weight; /* of such a zero, from 0 to 1; 0: the entry is unknown                      */
    double fade; /* in the first sweeps its weight is at least 1, fade, fade^2, ...; 0: it is not */
};

/* How unlisted entries and the ridge count in a sweep. */
struct unlisted_count {
    double weight; /* of an unlisted entry       */
    double ridge;  /* by which ridges are multiplied */
    bool fading;   /* not yet the problem itself */
};

/* Zero is the default of every field but the rank. */
struct problem {
    uint64_t rank;           /* components of the model */
    struct mode_rules rules; /* of each mode            */
    enum precision_policy precision;
    enum acceleration acceleration;
    struct unlisted unlisted;
    enum ridge_scale ridge_scale;
    struct holdout holdout; /* entries that test the model instead of making it */
};

/* How they count in the sweep after `sweeps` others; a negative number: after all fading. */
struct unlisted_count problem_count(const struct problem *p, int sweeps);

/* A member of a problem whose values have words, as the option of this name takes them. Records
 * show it, and a checkpoint goes on only with the value that it has. */
struct problem_choice {
    const char *name; /* of the option, without --; NULL ends the table */
    const char *key;  /* in records */
    const struct word *words;
    size_t at; /* of the member, an enum, in struct problem */
};
extern const struct problem_choice problem_choices[];

/* The word of p's value. */
const char *problem_word(const struct problem *p, const struct problem_choice *c);

#define UNLISTED_TEXT 32

/* text = what --unlisted takes for *u: zero, unknown or a number. Returns text. */
const char *unlisted_text(const struct unlisted *u, char text[UNLISTED_TEXT]);

#endif
