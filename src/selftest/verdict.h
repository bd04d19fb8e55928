/* The verdict of a check: it compares answers, each with what is expected, and keeps the first one
 * that is wrong. */
#ifndef BLCO_VERDICT_H
#define BLCO_VERDICT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/ktensor.h"
#include "tensor/coo.h"

struct verdict {
    uint64_t compared;  /* how many answers                                              */
    char wrong[384];    /* the first wrong one, got and expected; empty: there was none  */
    char left_out[160]; /* why nothing can be compared here; empty: it can              */
    FILE *shown;        /* where each answer is shown; borrowed; NULL: nowhere           */
};

/* Each of these compares one answer; name and arguments say as for printf what it is the answer to.
 * Right is a number within `tolerance` of the expected one; a number of at most `most`; a whole
 * number that is the expected one. A NaN is wrong. */
void verdict_near(struct verdict *f, double got, double expected, double tolerance,
                  const char *what, ...) __attribute__((format(printf, 5, 6)));
void verdict_at_most(struct verdict *f, double got, double most, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
void verdict_equal(struct verdict *f, uint64_t got, uint64_t expected, const char *what, ...)
    __attribute__((format(printf, 4, 5)));

/* Nothing can be compared here, because of `why`. */
void verdict_leave_out(struct verdict *f, const char *why);

/* The same nonzeros, to the last bit, in the same order. */
void verdict_same_tensor(struct verdict *f, const struct coo *got, const struct coo *expected,
                         const char *what);

/* The same model, each number within `tolerance` (0: to the last bit). Shows
 * only the first number that is wrong. */
void verdict_same_model(struct verdict *f, const struct ktensor *got,
                        const struct ktensor *expected, double tolerance, const char *what);

/* Whether answers were compared, and all were right. */
bool verdict_good(const struct verdict *f);

#endif
