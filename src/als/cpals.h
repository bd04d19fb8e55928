/* CP by alternating least squares (BLCO paper, Algorithm 1; Carroll & Chang 1970, Harshman 1970).
 */
#ifndef BLCO_CPALS_H
#define BLCO_CPALS_H

#include <signal.h>

#include "backend/backend.h"

struct cpals_options {
    int max_iterations; /* 1 or more                                        */
    double tolerance;   /* stop when the fit changes by less than this; 0: never */
    const volatile sig_atomic_t
        *interrupted; /* stop after the iteration in which this turns nonzero; may be NULL */
};

enum cpals_stop { CPALS_CONVERGED, CPALS_ITERATIONS, CPALS_INTERRUPTED };

struct cpals_result {
    int iterations; /* done                                          */
    double fit;     /* 1 - ||X - model|| / ||X|| after the last      */
    double change;  /* of the fit in the last iteration              */
    enum cpals_stop stop;
    double seconds;
};

/* One sweep over the modes of a loaded backend, and the fit of the model that it leaves. */
enum status cpals_sweep(struct backend *b, double *fit, struct error *error);

/* Runs ALS from the factors in k on an open backend and stores the arranged model (unit columns,
 * lambda descending) in k. STATUS_NUMERICAL names iteration and mode; k is then undefined. */
enum status cpals_run(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                      struct progress *progress, struct cpals_result *result, struct error *error);

#endif
