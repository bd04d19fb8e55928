/* What the user asks of a decomposition, decided once. */
#ifndef BLCO_PROBLEM_H
#define BLCO_PROBLEM_H

#include "base/words.h"
#include "numerics/precision.h"
#include "problem/mode_rules.h"

/* Whether sweeps are extrapolated (als/momentum.h). Auto: where that does not change how memory
 * holds the tensor, on any rank. */
enum acceleration { ACCELERATE_OFF, ACCELERATE_MOMENTUM, ACCELERATE_AUTO };
extern const struct word acceleration_words[];

/* A run that begins in single precision and ends in double, beside the values of enum precision. */
enum { PRECISION_AUTO = PRECISION_SINGLE + 1 };
extern const struct word precision_words[];

/* Zero is the default of every field but the rank. */
struct problem {
    uint64_t rank;            /* components of the model */
    struct mode_rules rules;  /* of each mode            */
    enum precision precision; /* of the factor matrices at the end of a run */
    bool single_first;        /* a run begins in single precision; `precision` is double */
    enum acceleration acceleration;
};

/* The precision in which a run begins. */
enum precision problem_first_precision(const struct problem *p);

/* The word for the precision of a run. */
const char *precision_of_run(enum precision precision, bool single_first);

#endif
