/* When a run that begins in single precision goes on in double: where an iteration changes the fit
 * by no more than floats resolve, or than the run asks for, and for the last iteration of all. */
#ifndef BLCO_PRECISION_SWITCH_H
#define BLCO_PRECISION_SWITCH_H

#include "backend/backend.h"

/* Smaller changes of the fit are not told from rounding in single precision. */
#define SINGLE_RESOLVES 1e-6

/* How far a run has come, and what it asks for. */
struct precision_progress {
    int iterations, most; /* that were made; that are allowed                      */
    double change;        /* of the fit in the last one                            */
    double noise;         /* by which rounding may have changed that fit           */
    double tolerance;     /* the change that ends the run                          */
};

/* Whether the iterations of b are still those in single precision that others in double follow. */
bool precision_is_first(const struct backend *b);

/* Between two iterations: whether the backend is to go on in double after those of *run. All ranks
 * do so after the same iteration, since their fits are the same. */
bool precision_is_due(const struct backend *b, const struct precision_progress *run);

#endif
