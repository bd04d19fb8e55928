/* CP-ALS: the CP decomposition by alternating least squares (Carroll & Chang 1970, Harshman 1970;
 * BLCO paper, Algorithm 1). */
#pragma once

#include <signal.h>

#include "als/checkpoint_saver.h"
#include "als/core_consistency.h"
#include "als/fit_trace.h"
#include "als/holdout_error.h"
#include "als/model_health.h"
#include "backend/backend.h"
#include "problem/initial_guess.h"

/* In single precision, smaller changes of the fit may be rounding. */
#define SINGLE_RESOLVES 1e-6

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
    const struct holdout_set *holdout_set; /* entries whose error is computed after each iteration;
                                            * borrowed; NULL: none (decompose sees to it) */
    int early_stop; /* with `holdout_set`: stop after so many iterations without a smaller held-out
                     * error, and take the model with the smallest; 0: neither */
    struct ktensor *whole; /* the model of all rows (model_whole_create), in which cpals_store
                            * stores them, or of which other processes than rank 0 store what it
                            * lacks; borrowed. NULL: all rows that are here are stored      */
    bool components;       /* find what each component of the model explains (struct ktensor)   */
    bool core_consistency; /* compute it after the last iteration, unless the run was interrupted */
    uint64_t core_passes;  /* as of struct core_limits                                         */
};

enum cpals_stop {
    CPALS_GOES_ON,
    CPALS_CONVERGED,
    CPALS_ITERATIONS,
    CPALS_EARLY, /* the held-out error has not become smaller (early_stop)                   */
    CPALS_INTERRUPTED,
    CPALS_TIME_LIMIT,
    CPALS_BREAKDOWN /* of one start of several (runs.h)                                     */
};

/* How far the fits of a run can be trusted. */
struct fit_trust {
    bool exact;   /* the last fit was computed from the residual                     */
    bool blind;   /* rounding hid what the last sweep gained (fit_is_blind)          */
    double noise; /* estimate of the rounding error of the last fit, and of what writing the model
                   * changes it by */
    int checks;   /* how many fits were computed from the residual                   */
    double error; /* the largest error of the fits that these replaced               */
    int falls;    /* iterations in which the fit fell by more than rounding explains */
    double fall;  /* the largest of these falls                                      */
};

struct cpals_result {
    int iterations;        /* made, including those before a resumed checkpoint    */
    int single_iterations; /* how many of these ran in single precision before the run went
                            * on in double                                         */
    double fit;            /* 1 - ||X - model|| / ||X||                           */
    int best_iteration;    /* the model is that of this iteration; 0: of the last */
    double last_fit;       /* if best_iteration is not 0: after the last iteration */
    struct holdout_error holdout_error; /* of the model; without an auc before the run has ended */
    double least_holdout_error; /* the least held-out error of an iteration after fading ... */
    int least_iteration;        /* ... which this was; 0: there was none                 */
    double change;              /* of the fit in the last iteration                    */
    double violation;           /* of a model of counts: struct backend_fit; NaN before the first
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

/* Why a run has stopped, in words: "iteration limit". */
const char *cpals_stop_text(enum cpals_stop stop);

/* One iteration: updates every mode of a loaded backend in turn; *fit = the fit of the new model, m
 * as for backend_fit. Errors as backend_mttkrp, backend_update and backend_fit. */
enum status cpals_sweep(struct backend *b, const struct momentum *m, struct backend_fit *fit,
                        struct error *error);

/* Loads the model k, or a random one (options->random), and iterates until the options say to stop.
 * The model stays in the backend: that of the last iteration, or of an earlier one if rounding does
 * not explain why its fit is higher. Meanwhile k may be overwritten with a copy of the latter
 * (struct best_model). To resume, k is the model of the checkpoint. Every rank calls it with the
 * rows that are here, and all stop after the same iteration. `progress` may be NULL. */
enum status cpals_iterate(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                          struct progress *progress, struct cpals_result *result,
                          struct error *error);

/* Copies the model into k, arranged (backend_store_arranged), and computes what its components
 * explain and the core consistency if the options ask for it; then the backend has no model
 * afterwards. With options->whole, which excludes the core consistency, the rows go there, or
 * those of other processes than rank 0 to k, and k gets the weights. Every rank calls it. Errors of
 * backend_components, backend_store_arranged and core_consistency. */
enum status cpals_store(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                        struct progress *progress, struct cpals_result *result,
                        struct error *error);

/* Notes the fit of an accepted sweep with factor matrices of this precision, and its change since
 * the sweep before. */
void fit_trust_note(struct fit_trust *t, const struct backend_fit *fit, double change,
                    enum precision precision);
