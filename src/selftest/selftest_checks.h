/* The checks: each finds out whether known answers come out at a place. Implemented in
 * check_ordering.c, check_files.c, check_mttkrp.c, check_fits.c, check_counts.c and
 * check_resume.c. */
#ifndef BLCO_SELFTEST_CHECKS_H
#define BLCO_SELFTEST_CHECKS_H

#include "selftest/verdict.h"
#include "selftest/selftest_place.h"

/* Compares answers in *f. A check that returns an error has failed. Every rank calls the check, and
 * the answers of the rank that compares count. */
typedef enum status selftest_check(const struct selftest_place *p, struct verdict *f,
                                   struct error *error);

/* Without a backend: the twelve nonzeros of the BLCO paper's figure 6; files of a tensor, and files
 * of a model, read back to the last bit. */
selftest_check check_ordering, check_tensor_files, check_model_files;

/* On a backend alone: MTTKRP of each mode with each conflict resolution against the definition, in
 * both precisions; on a device also of a streamed tensor. */
selftest_check check_mttkrp_double, check_mttkrp_single, check_mttkrp_streamed;

/* ALS: best fits of the matrix multiplication tensor (rank 1, and 7 from near Strassen's model) and
 * of a superdiagonal tensor; planted models that are found again. */
selftest_check check_multiplication, check_strassen, check_superdiagonal, check_planted_dense,
    check_planted_sparse;

/* Both steps of a Poisson loss on a published table; left out where the backend refuses the loss.
 */
selftest_check check_counts;

/* ALS that stops and resumes from its checkpoint ends like ALS that does not stop; on the host with
 * the same bits. */
selftest_check check_resume;

#endif
