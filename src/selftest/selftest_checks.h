/* The checks: each finds out whether known answers come out at a place. Implemented in
 * check_files.c, check_mttkrp.c and check_runs.c. */
#ifndef BLCO_SELFTEST_CHECKS_H
#define BLCO_SELFTEST_CHECKS_H

#include "selftest/verdict.h"
#include "selftest/selftest_place.h"

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

#endif
