/* Measures how long each way of ALS (ways.h) takes to come near the best fit: all ways run from the
 * same starts, and each run is measured against the best fit that any way ends with from its seed.
 * Implemented in to_fit.c (the runs) and to_fit_reach.c (what follows from their traces). */
#ifndef BLCO_TO_FIT_H
#define BLCO_TO_FIT_H

#include "bench/ways.h"
#include "ranks/rank_tensor.h"

#define TO_FIT_LEVELS 3
#define TO_FIT_GAPS   2

#define TO_FIT_REPEATS 30  /* what is usual for `repeats` of struct to_fit_request */
#define TO_FIT_SECONDS 0.5 /* longer runs are not repeated                         */

extern const double to_fit_level[TO_FIT_LEVELS]; /* how near to the best fit: 1e-3, 1e-4, 1e-6 */
extern const double to_fit_gap[TO_FIT_GAPS];     /* by which answers differ: 1e-3, 1e-4        */

/* The result of one run. */
struct to_fit_run {
    uint64_t seed;
    int iterations; /* made, including rejected ones                                       */
    double seconds; /* until the end of the last one                                       */
    double fit;     /* at the end of the run, computed from the residual                   */
    double off_by;  /* error of the last fit before the residual gave it; 0: not known     */
    enum cpals_stop stop;
    int reached[TO_FIT_LEVELS];            /* iterations until the level was reached; 0: never  */
    double reached_seconds[TO_FIT_LEVELS]; /* likewise; INFINITY: never                         */
    struct fit_trace trace; /* of every iteration, on rank 0; owned                             */
};

/* Summary of the runs of one way. A median is INFINITY if half of the runs or more never reach the
 * level. */
struct to_fit_summary {
    double iterations[TO_FIT_LEVELS], seconds[TO_FIT_LEVELS]; /* medians of the runs          */
    int never[TO_FIT_LEVELS]; /* runs that never reach the level                               */
    int worse[TO_FIT_GAPS];   /* runs that ended with a fit lower by more than the gap than that
                               * of the first way from the same seed                           */
    int better[TO_FIT_GAPS];  /* likewise, higher                                              */
};

struct to_fit_way {
    const struct way *way;
    double open_seconds; /* of opening the backend                        */
    struct backend_built built;
    struct to_fit_run *run; /* (starts); owned                            */
    struct to_fit_summary summary;
};

struct to_fit_request {
    const struct backend_kind *kind;
    struct backend_options options; /* of all ways, but for what makes a way                    */
    int starts;                     /* 1 or more, of the seeds `seed`, `seed` + 1, ...          */
    uint64_t seed;
    int iterations;             /* most of a run: 1 to FIT_TRACE_MOST                           */
    double tolerance;           /* ways.h                                                       */
    int repeats;                /* how often a run is made at most, until all have taken
                                 * TO_FIT_SECONDS; the least seconds count; 1 or more           */
    struct rank_tensor *tensor; /* borrowed; its nonzeros stay */
};

struct to_fit {
    struct shape shape; /* of the whole tensor                                           */
    uint64_t nnz;
    int ranks;            /* 0: one rank alone                                           */
    int parts[MAX_ORDER]; /* of the grid of several ranks                                */
    int starts, ways;
    struct to_fit_way *way; /* (ways): those that the backend can go, in their order; owned */
    double *best;           /* (starts): the best fit of the runs of each seed; owned      */
};

/* Measures all ways that the backend can go, one after the other; each opens a backend of its own.
 * Not timed: reading, opening, loading the start, and a throw-away run, in which kernels are
 * chosen. Every rank calls it, and rank 0's *t is complete. `progress` may be NULL. The caller
 * frees *t with to_fit_free, after a failure too. Errors as backend_prepare, backend_build and
 * cpals_iterate. */
enum status to_fit_measure(struct to_fit *t, const struct to_fit_request *request,
                           struct progress *progress, struct error *error);

/* Computes t->best, the levels that the runs reach, and the summaries, from fits and traces. A run
 * reaches a level with the first iteration whose fit is within the level of the best one; it never
 * does if run->off_by is more than the level. STATUS_MEMORY. */
enum status to_fit_reach(struct to_fit *t, struct error *error);

/* Accepts an empty *t. */
void to_fit_free(struct to_fit *t);

#endif
