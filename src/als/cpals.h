/* CP-ALS: the CP decomposition by alternating least squares (Carroll & Chang 1970, Harshman 1970;
 * BLCO paper, Algorithm 1). */
#ifndef BLCO_CPALS_H
#define BLCO_CPALS_H

#include <signal.h>

#include "als/best_model.h"
#include "als/checkpoint_saver.h"
#include "als/core_consistency.h"
#include "als/fit_trace.h"
#include "als/fit_trust.h"
#include "als/model_health.h"
#include "backend/backend.h"
#include "problem/ktensor_start.h"

struct cpals_options {
    int max_iterations; /* 1 or more */
    double tolerance;   /* stop when an iteration changes the fit by less than this; 0: never */
    int check_every;    /* compute the fit of every so many iterations, and of the last one, from
                         * the residual; 0: only where rounding could pass for convergence    */
    const volatile sig_atomic_t *interrupted; /* stop after the iteration in which this turns
                                                 nonzero; borrowed; may be NULL */
    double deadline; /* stop after the iteration that ends at this time of clock_now or later;
                      * 0: never                                                              */
    const struct checkpoint_options *saving; /* checkpoints to write; borrowed; may be NULL   */
    const struct checkpoint *resume; /* go on from this one, which counts for the iterations, too;
                                      * borrowed; may be NULL                                 */
    const struct ktensor_start *random; /* where not NULL, the run starts from the random model that
                                         * this tells, which the backend makes, and not from k;
                                         * borrowed. NULL where the run resumes               */
    struct fit_trace *trace; /* receives the fit of each iteration; borrowed; may be NULL, and
                              * is with several ranks but on rank 0 (cpals_run_rank sees to it) */
    bool core_consistency; /* compute it behind the last iteration, unless the run was ended ... */
    double core_above;     /* ... where the fit is above this                                  */
    uint64_t core_passes;  /* estimate it where it takes more MTTKRPs than these; 0: CORE_PASSES */
};

enum cpals_stop {
    CPALS_GOES_ON,
    CPALS_CONVERGED,
    CPALS_ITERATIONS,
    CPALS_INTERRUPTED,
    CPALS_TIME_LIMIT,
    CPALS_BREAKDOWN /* of one start of several (starts.h)                                   */
};

/* Why a run has stopped, in words: "iteration limit". */
const char *cpals_stop_text(enum cpals_stop stop);

struct cpals_result {
    int iterations;               /* that were made, those before a resumed checkpoint included */
    int single_iterations;        /* of these, the first so many ran in single precision, of a run
                                   * that goes on in double                               */
    double fit;                   /* 1 - ||X - model|| / ||X||                           */
    int best_iteration;           /* of which the model is; 0: of the last one           */
    double last_fit;              /* with best_iteration: after the last one             */
    double change;                /* of the fit in the last iteration                    */
    bool momentum;                /* the iterations were accelerated */
    int restarts;                 /* of momentum: iterations that were rejected, and so lost */
    struct fit_trust trust;       /* how far the fits can be trusted         */
    struct model_health health;   /* of the model after the last iteration   */
    struct core_consistency core; /* likewise, where it was asked for          */
    enum cpals_stop stop;
    int interrupted;        /* the value of options.interrupted that stopped the run, or 0 */
    double seconds;         /* of loading the factors and of all iterations        */
    int saved;              /* the iteration of the last checkpoint, or 0          */
    struct error not_saved; /* why the last checkpoint was not written; else empty */
    struct error breakdown; /* CPALS_BREAKDOWN: why there is no model; else empty  */
};

/* One iteration: updates every mode of a loaded backend in turn; *fit = the fit of the new model,
 * with *m as backend_fit has it. Errors as backend_mttkrp, backend_update and backend_fit. */
enum status cpals_sweep(struct backend *b, const struct momentum *m, struct backend_fit *fit,
                        struct error *error);

/* Loads k, or begins with options->random, and iterates, until the options say to stop; the model
 * stays in the backend: that of the last iteration, or of an earlier one whose fit is higher by
 * more than rounding explains. Meanwhile k may serve for a copy of that one (best_model.h). To
 * resume, k has the model of the checkpoint, whose scales and Grams are loaded, too. On several
 * ranks each rank calls cpals_iterate with the rows that are here, and all stop after the same
 * iteration. `progress`, which may be NULL, shows the result. */
enum status cpals_iterate(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                          struct progress *progress, struct cpals_result *result,
                          struct error *error);

/* Copies the model into k, arranged (backend_store_arranged). Where the options ask for the core
 * consistency, it is computed before, after which the model is no more in the backend. Every rank
 * calls it. Errors of backend_store_arranged and core_consistency. */
enum status cpals_store(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                        struct progress *progress, struct cpals_result *result,
                        struct error *error);

/* Runs ALS on an open backend, from options->random or else the model in k, which has the backend's
 * shape and rank, and leaves the arranged result (ktensor_arrange) in k. `progress` may be NULL.
 * STATUS_NUMERICAL, with iteration and mode in the message, STATUS_MEMORY, and errors of the
 * operations (backend.h). After a failure the numbers in k are undefined; the caller still frees k.
 */
enum status cpals_run(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                      struct progress *progress, struct cpals_result *result, struct error *error);

#endif
