/* Measures, on one backend, MTTKRP of every mode with every conflict resolution, and ALS
 * iterations. Every result is verified before it is timed. Implemented in bench_run.c. */
#pragma once

#include <stdio.h>

#include "backend/backend.h"
#include "base/json.h"
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

/* ALS on several ranks, measured: every rank measures its own part (bench.h), and rank 0 gathers.
 * Implemented in bench_derived.c. */

/* What one rank measured. */
struct bench_rank {
    uint64_t nnz;             /* of its part                                                    */
    double mttkrp[MAX_ORDER]; /* [n]: median seconds of MTTKRP of mode n in an iteration        */
    double update[MAX_ORDER]; /* [n]: mean seconds of the update, moving rows included          */
    double communication;     /* mean seconds of an iteration in which rows and sums moved      */
};

struct bench_ranks {
    int ranks;
    int parts[MAX_ORDER];  /* of the grid                                                       */
    struct shape shape;    /* of the whole tensor                                              */
    uint64_t nnz;          /* of the whole tensor                                               */
    double imbalance;      /* nonzeros of the fullest rank over the mean, less 1                */
    struct grid_cost cost; /* that the model predicts                                           */
    double read_seconds, exchange_seconds; /* from the file to each rank's nonzeros             */
    struct bench_rank *rank;               /* (ranks); owned                                    */
};

/* *ranks = the results of all ranks of t; *result is that of this rank, for its part. Every rank
 * calls it. The caller frees *ranks with bench_ranks_free, after a failure too.
 * STATUS_MEMORY; the failure of another rank. */
enum status bench_ranks_gather(struct bench_ranks *ranks, const struct rank_tensor *t,
                               const struct bench_result *result, struct error *error);

/* Seconds of the MTTKRPs of an iteration: the sum over modes of the slowest rank. */
double bench_ranks_mttkrp(const struct bench_ranks *ranks, int order);

/* Accepts an empty one. */
void bench_ranks_free(struct bench_ranks *ranks);

/* Numbers that follow from the measurements of a benchmark. */

/* *s = the statistics of sample (count), in any order; count is 1 or more. STATUS_MEMORY. */
enum status bench_statistics(const double *sample, uint64_t count, struct bench_statistics *s,
                             struct error *error);

/* Bytes of factor rows that MTTKRP of one mode gathers: nnz x (order - 1) rows, whatever the mode.
 */
double bench_gathered_bytes(const struct bench_result *r);

/* Seconds that MTTKRP of a mode by itself takes at least: whatever its kernel, it gathers
 * bench_gathered_bytes from caches, and moves in memory each nonzero, each row of the other factor
 * matrices and each row of M once. A mode that shares partial products with others can be faster.
 */
struct bench_floor {
    double cache, memory, seconds; /* `seconds`: the larger one of the other two */
    const char *name;              /* which one it is: "cache" or "memory"       */
};
struct bench_floor bench_floor(const struct bench_result *r, int mode);

/* Seconds of an operation in an ALS iteration, summed over the modes. */
double bench_als_seconds(const struct bench_als *als, enum operation op);

/* Seconds to upload the tensor from pinned memory, at 16 bytes a nonzero: an index and a value. For
 * a backend with an upload rate only. */
double bench_transfer(const struct bench_result *r);

/* Writes the measurements of a benchmark as JSON for programs, with every sample. Implemented in
 * bench_record.c. */

/* Adds to the object that is open in j: tensor (with the name `tensor`), options, limits,
 * reference, mttkrp, als; of several ranks these are rank 0's, and ranks has grid, model and what
 * each rank measured. Modes count from 1; times are in seconds. An error is kept in j. `ranks` may
 * be NULL. */
void bench_record(struct json *j, const char *tensor, const struct bench_request *request,
                  const struct bench_result *r, const struct bench_ranks *ranks);

/* Prints the measurements of a benchmark as tables for people. Implemented in
 * bench_table.c. */

/* Prints all of *r to `stream`, at most 100 columns wide; times in milliseconds. */
void bench_table(FILE *stream, const struct bench_result *r);

/* Prints the grid, the measurements of each rank, and the predictions of the model. order: of the
 * tensor. */
void bench_table_ranks(FILE *stream, const struct bench_ranks *ranks, int order);

/* Some rows of M straight from the definition of MTTKRP, in double precision, to verify MTTKRP: one
 * pass over the nonzeros, in pieces, from memory or from their .blco file. Implemented in
 * bench_reference.c. */

#define BENCH_REFERENCE     "sampled rows on the host"
#define BENCH_REFERENCE_NNZ 16 /* nonzeros, evenly spread, that tell which rows are computed */

struct bench_reference {
    struct shape shape; /* of the rank's part */
    uint64_t rank;
    uint64_t rows[MAX_ORDER];                     /* [n]: how many rows of mode n  */
    uint32_t row[MAX_ORDER][BENCH_REFERENCE_NNZ]; /* [n] (rows): which, ascending  */
    double *m[MAX_ORDER];                         /* [n] (rows x R): of M; owned   */
    double *other;                                /* (longest mode x R): scratch, the M to compare;
                                                     owned                                      */
};

/* *f = rows of M of every mode for the factors of k, of this rank's part of the tensor, which may
 * be unread and whose rows are divided (rank_rows.h). By all OpenMP threads. The caller frees *f
 * with bench_reference_free, after a failure too. STATUS_INPUT where the file is damaged,
 * STATUS_MEMORY. */
enum status bench_reference_create(struct bench_reference *f, const struct rank_tensor *t,
                                   const struct ktensor *k, struct error *error);

/* *difference = ||M - reference|| / ||reference|| for the M of the backend's last MTTKRP, that of
 * `mode`, over the rows that the reference has; 0 where the two are equal. Errors as
 * backend_fetch. */
enum status bench_reference_compare(const struct bench_reference *f, struct backend *b, int mode,
                                    double *difference, struct error *error);

/* The largest relative difference from the reference that rounding can explain. */
double bench_tolerance(enum precision precision, enum conflict conflict, uint64_t nnz);

/* Accepts an empty *f. */
void bench_reference_free(struct bench_reference *f);
