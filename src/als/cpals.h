/* CP-ALS: the CP decomposition by alternating least squares (Carroll & Chang 1970, Harshman 1970;
 * BLCO paper, Algorithm 1). */
#ifndef BLCO_CPALS_H
#define BLCO_CPALS_H

#include "als/cpals_options.h"
#include "backend/backend.h"

/* Why a run has stopped, in words: "iteration limit". */
const char *cpals_stop_text(enum cpals_stop stop);

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

#endif
