/* Options of a run of CP-ALS, and its result. */
#ifndef BLCO_CPALS_OPTIONS_H
#define BLCO_CPALS_OPTIONS_H

#include <signal.h>

#include "als/best_model.h"
#include "als/checkpoint_saver.h"
#include "als/core_consistency.h"
#include "als/fit_trace.h"
#include "als/fit_trust.h"
#include "als/held_error.h"
#include "als/model_health.h"
#include "backend/backend.h"
#include "problem/initial_guess.h"

struct cpals_options {
    int max_iterations; /* 1 or more */
    double tolerance;   /* stop when an iteration changes the fit by less than this; 0: never */
    int check_every;    /* compute the fit of every check_every-th iteration, and of the last one,
                         * from the residual; 0: only where rounding could pass for convergence */
    const volatile sig_atomic_t *interrupted; /* stop after the iteration in which this turns
                                                 nonzero; borrowed; may be NULL */
    double deadline; /* stop after the iteration that ends at this time of clock_now or later;
                      * 0: never                                                              */
    const struct checkpoint_options *saving; /* checkpoints to write; borrowed; may be NULL   */
    const struct checkpoint *resume;    /* go on from this one, and count on from its iterations;
                                         * borrowed; may be NULL                              */
    const struct initial_guess *random; /* start from this random model, which the backend makes,
                                         * instead of k; borrowed. NULL: k, or the run resumes */
    struct fit_trace *trace; /* receives the fit of each iteration; borrowed; NULL on all ranks but
                              * rank 0, where it may be NULL (decompose sees to it) */
    const struct held_out *held; /* entries whose error is computed after each iteration; borrowed;
                                  * NULL: none (decompose sees to it)                         */
    int early_stop; /* with `held`: stop after so many iterations without a smaller held-out error,
                     * and take the model with the smallest; 0: neither                       */
    bool core_consistency; /* compute it after the last iteration, unless the run was interrupted */
    double core_above;     /* ... and only if the fit is above this                            */
    uint64_t core_passes;  /* as of struct core_limits                                         */
};

enum cpals_stop {
    CPALS_GOES_ON,
    CPALS_CONVERGED,
    CPALS_ITERATIONS,
    CPALS_EARLY, /* the held-out error has not become smaller (early_stop)                   */
    CPALS_INTERRUPTED,
    CPALS_TIME_LIMIT,
    CPALS_BREAKDOWN /* of one start of several (starts.h)                                   */
};

struct cpals_result {
    int iterations;         /* made, including those before a resumed checkpoint    */
    int single_iterations;  /* how many of these ran in single precision before the run went
                             * on in double                                         */
    double fit;             /* 1 - ||X - model|| / ||X||                           */
    int best_iteration;     /* the model is that of this iteration; 0: of the last */
    double last_fit;        /* if best_iteration is not 0: after the last iteration */
    struct held_error held; /* of the model; without an auc before the run has ended */
    double least_held;      /* the least held-out error of an iteration after fading ... */
    int least_iteration;    /* ... which this was; 0: there was none                 */
    double change;          /* of the fit in the last iteration                    */
    double violation;       /* of a model of counts: struct backend_fit; NaN before the first
                             * iteration that was not resumed, and ...             */
    double deviance, log_likelihood; /* ... backend_likelihood                           */
    bool momentum;                   /* the iterations were accelerated */
    int restarts;                    /* of momentum: rejected iterations                    */
    struct fit_trust trust;          /* how far the fits can be trusted         */
    struct model_health health;      /* of the model after the last iteration   */
    struct core_consistency core;    /* likewise, where it was asked for          */
    enum cpals_stop stop;
    int interrupted;        /* the value of options.interrupted that stopped the run, or 0 */
    double seconds;         /* of loading the factors and of all iterations        */
    int saved;              /* the iteration of the last checkpoint, or 0          */
    struct error not_saved; /* why the last checkpoint was not written; else empty */
    struct error breakdown; /* CPALS_BREAKDOWN: why there is no model; else empty  */
};

#endif
