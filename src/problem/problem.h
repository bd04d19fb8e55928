/* What the user asks of a decomposition, decided once. */
#pragma once

#include <stdbool.h>

#include "base/words.h"
#include "numerics/precision.h"
#include "problem/loss.h"
#include "tensor/holdout.h"
#include "tensor/shape.h"

/* Whether sweeps are extrapolated (numerics/momentum_step.h). Auto: yes, unless the memory for that
 * would change how some rank holds the tensor. */
enum acceleration { ACCELERATE_OFF, ACCELERATE_MOMENTUM, ACCELERATE_AUTO };
extern const struct word acceleration_words[];

/* How a row is improved where the model's values are rates (numerics/poisson_term.h): by a damped
 * Newton step, or by a multiplicative one. */
enum solver { SOLVER_NEWTON, SOLVER_MU };
extern const struct word solver_words[];

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
    double fade; /* in the first sweeps its weight is at least first, first fade, first fade^2, ...;
                  * 0: it is not */
    double first; /* 0 stands for 1 */
};

/* How unlisted entries and the ridge count in a sweep. */
struct unlisted_count {
    double weight; /* of an unlisted entry       */
    double ridge;  /* by which ridges are multiplied */
    bool fading;   /* not yet the problem itself */
};

/* What the user asks of each mode's factor matrix. Zero asks for nothing. */
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

/* Whether a sweep over `order` modes depends on the old factor matrix of mode n: false if the mode
 * is fixed or solved first, true if it is nonnegative (HALS starts from it). */
bool mode_rules_begins(const struct mode_rules *r, int order, int n);

/* Whether one of the flags (MAX_ORDER) is set. */
bool mode_rules_any(const bool *flag);

/* Bit n is the flag of mode n, and back. */
unsigned mode_rules_bits(const bool *flag);
void mode_rules_flags(bool *flag, unsigned bits);

/* Zero is the default of every field but the rank. */
struct problem {
    uint64_t rank;           /* components of the model */
    struct mode_rules rules; /* of each mode            */
    enum precision_policy precision;
    enum acceleration acceleration;
    struct unlisted unlisted;
    enum ridge_scale ridge_scale;
    struct holdout holdout; /* entries that test the model instead of making it */
    enum loss_name loss;
    enum solver solver; /* of rates */
    int inner;          /* steps of a mode before the next mode, at most PROBLEM_MOST_INNER, with
                         * SOLVER_MU; 0 counts as 1 */
};

#define PROBLEM_MOST_INNER 1000

/* The steps of a mode in a sweep, before the next mode. */
int problem_inner(const struct problem *p);

/* Whether the model's values are rates (struct loss). */
bool problem_has_rates(const struct problem *p);

/* The least part of an entry that momentum leaves: 0 but of rates, where multiplicative steps let
 * an entry that is too small grow only slowly. */
double problem_keeps(const struct problem *p);

/* After a sweep that gains much, momentum's t is at most this / sqrt(gain) (momentum_step.h). */
double problem_reach(const struct problem *p);

/* Whether each row of a factor matrix has a system of its own, and sweeps make no MTTKRP. */
bool problem_by_rows(const struct problem *p);

/* Whether these systems have matrices: not for multiplicative steps. */
bool problem_has_matrices(const struct problem *p);

/* Where some of the listed entries are unknown, each row needs a system of its own, even if
 * unlisted entries are ordinary zeros. */
void problem_take_unknown(struct problem *p, uint64_t unknown);

/* The weight of unlisted entries in the first sweep, for a tensor with so many listed ones. Where
 * unlisted entries are far more, zeros of weight 1 would alone decide what the first sweeps find,
 * and large tensors would not recover: together they count at most 30 times as much as the listed
 * ones. */
void problem_begin_fading(struct problem *p, const struct shape *shape, uint64_t listed);

/* Whether every start leads to the same model: with rates and one component, the deviance is
 * convex in the logarithms of the entries. */
bool problem_has_one_optimum(const struct problem *p);

/* Sets what follows from the loss: where values are rates, all modes are nonnegative. */
void problem_complete_loss(struct problem *p);

/* Their weights in the sweep after `sweeps` others; a negative number: after all fading. */
struct unlisted_count problem_count(const struct problem *p, int sweeps);

/* A member of a problem whose values have names, which its option takes. Records show it, and a
 * checkpoint goes on only with the value that it has. */
struct problem_choice {
    const char *name; /* of the option, without --; NULL ends the table */
    const char *key;  /* in records */
    const struct word *words;
    size_t at; /* of the member, an enum, in struct problem */
};
extern const struct problem_choice problem_choices[];

/* The word of p's value. */
const char *problem_word(const struct problem *p, const struct problem_choice *c);

#define UNLISTED_TEXT 40

/* text = what --unlisted takes for *u: zero, unknown or a number. Returns text. */
const char *unlisted_text(const struct unlisted *u, char text[UNLISTED_TEXT]);
