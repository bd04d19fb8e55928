/* When a run that begins in single precision goes on in double: before its last iteration, or after
 * an iteration that changed the fit by no more than single precision resolves, or than the run's
 * tolerance. */
#ifndef BLCO_PRECISION_SWITCH_H
#define BLCO_PRECISION_SWITCH_H

#include "backend/backend.h"

/* In single precision, smaller changes of the fit may be rounding. */
#define SINGLE_RESOLVES 1e-6

/* The progress of a run, and its limits. */
struct precision_progress {
    int iterations, most; /* made; allowed                                         */
    double change;        /* of the fit in the last iteration                      */
    double noise;         /* estimate of the rounding error of that fit            */
    double tolerance;     /* the change that ends the run                          */
};

/* Whether b iterates in single precision and will go on in double. */
bool precision_is_first(const struct backend *b);

/* Whether the next iteration is the first in double. The same on all ranks, whose fits are the
 * same. */
bool precision_is_due(const struct backend *b, const struct precision_progress *run);

#endif
