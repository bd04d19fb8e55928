/* The checks: each finds out whether known answers come out at a place. Implemented in
 * check_ordering.c, check_files.c, check_mttkrp.c, check_fits.c and check_resume.c. */
#ifndef BLCO_SELFTEST_CHECKS_H
#define BLCO_SELFTEST_CHECKS_H

#include "selftest/verdict.h"
#include "selftest/selftest_place.h"

/* Compares answers in *f. An error is one of what is checked: the check has then failed. Of several
 * ranks every rank calls the check, and what the rank that compares finds counts. */
typedef enum status selftest_check(const struct selftest_place *p, struct verdict *f,
                                   struct error *error);

/* Without a backend: the twelve nonzeros of the BLCO paper's figure 6; files of a tensor, and files
 * of a model, read back to the last bit. */
selftest_check check_ordering, check_tensor_files, check_model_files;

/* On a backend alone: MTTKRP of each mode with each conflict resolution against the definition, in
 * both precisions; on a device also of a tensor that flows to the device in batches. */
selftest_check check_mttkrp_double, check_mttkrp_single, check_mttkrp_streamed;

/* ALS: best fits of the matrix multiplication tensor (rank 1, and 7 from near Strassen's model) and
 * of a superdiagonal tensor; planted models that are found again. */
selftest_check check_multiplication, check_strassen, check_superdiagonal, check_planted_dense,
    check_planted_sparse;

/* ALS that stops, and goes on from the checkpoint, ends as if it had not stopped: on processors in
 * the same bits. */
selftest_check check_resume;

#endif
