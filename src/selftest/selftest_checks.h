/* The checks: each finds out whether known answers come out at a place. Implemented in
 * check_files.c, check_mttkrp.c and check_runs.c; what a place does in selftest_place.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "als/decompose.h"
#include "model/ktensor.h"
#include "tensor/coo.h"

/* The verdict of a check: it compares answers, each with what is expected, and keeps the first one
 * that is wrong. Implemented in verdict.c. */

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

/* The same nonzeros, to the last bit, in the same order. */
void verdict_same_tensor(struct verdict *f, const struct coo *got, const struct coo *expected,
                         const char *what);

/* The same model, each number within `tolerance` (0: to the last bit). Shows
 * only the first number that is wrong. */
void verdict_same_model(struct verdict *f, const struct ktensor *got,
                        const struct ktensor *expected, double tolerance, const char *what);

/* Whether answers were compared, and all were right. */
bool verdict_good(const struct verdict *f);

/* Where a check runs: on a backend alone, or on ranks that work together. */
struct selftest_place {
    const struct backend_kind *kind; /* NULL: the check needs no backend                        */
    int device;                      /* this rank's                                             */
    uint64_t host_memory;            /* of this rank, as in struct backend_options              */
    struct comm *comm;               /* of the ranks; NULL without a backend; borrowed          */
    struct device_comm *devices;     /* connects their devices, as in struct rank_rows          */
    struct ktensor *shared;          /* the model that ranks that are threads have in common; empty
                                      * between two runs; borrowed; else NULL                        */
    const char *folder; /* for files, the same on all ranks                             */
};

/* Whether this rank has the results, and compares them: alone, or rank 0. */
bool place_compares(const struct selftest_place *p);

/* Whether the backend refuses this problem, for a reason that is the same on all ranks; *why is
 * then the error. */
bool place_refuses(const struct selftest_place *p, const struct coo *x,
                   const struct problem *problem, struct error *why);

/* A run of ALS from a model, the same on all ranks of a place. */
struct place_run {
    const struct problem *problem;
    const struct ktensor *start;
    struct cpals_options als;
};

/* What a run ends with. */
struct place_outcome {
    struct ktensor model;       /* on the rank that compares, empty on the others; owned */
    struct cpals_result result; /* the same on all ranks */
};

/* Decomposes x on all ranks of the place. All pass the same x and *run. *o is empty at first; the
 * caller frees its model, after a failure too. Errors of backend_prepare and decompose. */
enum status place_decompose(const struct selftest_place *p, const struct coo *x,
                            const struct place_run *run, struct place_outcome *o,
                            struct error *error);

/* Compares answers in *f. A check that returns an error has failed. Every rank calls the check, and
 * the answers of the rank that compares count. Some functions make several checks: `which` tells.
 */
typedef enum status selftest_function(const struct selftest_place *p, int which, struct verdict *f,
                                      struct error *error);

/* Without a backend: the twelve nonzeros of the BLCO paper's figure 6; files of a tensor, and files
 * of a model, read back to the last bit. */
selftest_function check_ordering, check_tensor_files, check_model_files;

/* On a backend alone: MTTKRP of each mode with each conflict resolution against the definition, in
 * both precisions; on a device also of a streamed tensor. */
enum selftest_mttkrp { MTTKRP_DOUBLE, MTTKRP_SINGLE, MTTKRP_STREAMED };
selftest_function check_mttkrp;

/* ALS: best fits of the matrix multiplication tensor (rank 1, and 7 from near Strassen's model) and
 * of a superdiagonal tensor; planted models that are found again; both steps of a Poisson loss on a
 * published table, left out where the backend refuses the loss. */
enum selftest_runs {
    RUNS_MULTIPLICATION,
    RUNS_STRASSEN,
    RUNS_SUPERDIAGONAL,
    RUNS_DENSE,
    RUNS_SPARSE,
    RUNS_COUNTS
};
selftest_function check_runs;

/* ALS that stops and resumes from its checkpoint ends like ALS that does not stop; on the host with
 * the same bits. */
selftest_function check_resume;
