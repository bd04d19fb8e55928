/* Measures, on one backend, MTTKRP of every mode with every conflict resolution, and ALS
 * iterations. Every result is verified before it is timed. Implemented in bench_run.c. */
#ifndef BLCO_BENCH_H
#define BLCO_BENCH_H

#include "backend/backend.h"
#include "bench/bench_reference.h"
#include "ranks/rank_tensor.h"

/* Samples of an MTTKRP if the user gives no number: at least BENCH_SAMPLES, and up to BENCH_MOST
 * until they have taken BENCH_SECONDS. ALS makes BENCH_SAMPLES iterations. */
#define BENCH_SAMPLES     20
#define BENCH_MOST        100
#define BENCH_SECONDS     0.2
#define BENCH_RESOLUTIONS (CONFLICTS - 1) /* all but auto */

/* Of a series of samples, in their unit. Quartiles by linear interpolation between the sorted
 * samples.
 */
struct bench_statistics {
    double least, lower, median, upper, most;
};

/* MTTKRP of one mode with one conflict resolution. */
struct bench_series {
    bool measured;      /* false: the mode cannot have this resolution, and all else is 0       */
    char variant[96];   /* the chosen kernel; empty if there is no choice                       */
    double difference;  /* ||M - reference|| / ||reference||                                    */
    uint64_t bus_bytes; /* of the tensor, that one MTTKRP copies from host memory               */
    uint64_t count;     /* number of samples                                                    */
    double *seconds;    /* (count): the samples, in the order in which they were taken; owned   */
    struct bench_statistics statistics; /* of the samples, in seconds */
};

/* All modes on one open backend. */
struct bench_resolution {
    const char *name; /* of the conflict resolution, or "in ALS"; borrowed   */
    enum conflict conflict;
    bool fits;                           /* false: memory has no room, and nothing is measured  */
    double open_seconds;                 /* 0: no backend was opened                            */
    struct backend_seconds build;        /* of the stages of building                           */
    struct bench_series mode[MAX_ORDER]; /* [n]: mode n                                         */
};

/* ALS iterations as `blco cpd` would make them. */
struct bench_als {
    struct backend_built built;
    struct bench_resolution own;        /* MTTKRP of each mode within the iterations            */
    uint64_t count;                     /* number of iterations                                 */
    double *seconds;                    /* (count): of each iteration; owned                    */
    struct bench_statistics statistics; /* of the iterations, in seconds              */
    double operation[OP_COUNT][MAX_ORDER]; /* [op][n]: mean seconds in one iteration     */
    struct backend_fit fit;                /* after the last iteration                   */
};

struct bench_request {
    const struct backend_kind *kind;
    struct rank_tensor *tensor; /* its nonzeros are read if a plan needs them; borrowed        */
    bool als_only;              /* only MTTKRPs of iterations; always so on several ranks      */
    struct backend_options options; /* conflict: auto for all, else the only one               */
    uint64_t samples;               /* of each series, and iterations of ALS; 0: as above      */
};

struct bench_result {
    struct shape shape;
    uint64_t nnz, rank;
    enum precision precision; /* in which a run begins: that of what was measured */
    struct backend_rates rates;
    int resolutions;                                       /* how many were tried */
    struct bench_resolution resolution[BENCH_RESOLUTIONS]; /* (resolutions) */
    struct bench_als als;
    double communication; /* mean seconds of an iteration in which rows and sums moved        */
};

/* Measures everything into *r, the limits of the machine last. Every rank calls it with its own
 * part and measures itself; the iterations are made together. `progress` may be NULL. The caller
 * frees *r with bench_free, after a failure too. STATUS_INTERNAL if a result differs from the
 * reference by more than bench_tolerance; STATUS_MEMORY if nothing fits; errors as backend_open and
 * its operations. */
enum status bench_run(struct bench_result *r, const struct bench_request *request,
                      struct progress *progress, struct error *error);

/* Accepts an empty *r. */
void bench_free(struct bench_result *r);

#endif
