/* The processes of `blco cpd` write the model's files together where it is too large for one. */
#ifndef BLCO_CPD_TOGETHER_H
#define BLCO_CPD_TOGETHER_H

#include "commands/cpd/cpd_job.h"

/* Sets *together where the ranks of c are processes and the whole model does not fit into the host
 * memory that rank 0 may use, or that is there. Every rank of c calls this as soon as *t is there.
 * Where they write together, also checks what can be checked of the files.
 * STATUS_MEMORY where the settings ask for what needs the whole model: another format than npy, or
 * a start from a model; errors of model_writable_together. All ranks fail alike. */
enum status cpd_choose_together(bool *together, const struct cpd_settings *s, struct comm *c,
                                const struct rank_tensor *t, struct error *error);

/* Writes the model of which results->model has this rank's rows; every rank of c calls this. `lock`
 * is rank 0's, on the stem. results->files receives the names. Errors of model_write_together. */
enum status cpd_write_together(struct cpd_results *results, struct comm *c, const char *stem,
                               struct stem_lock *lock, struct error *error);

#endif
