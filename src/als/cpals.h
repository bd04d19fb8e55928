/* CP-ALS: the CP decomposition by alternating least squares (Carroll & Chang 1970, Harshman 1970;
 * BLCO paper, Algorithm 1). */
#ifndef BLCO_CPALS_H
#define BLCO_CPALS_H

#include "als/cpals_options.h"
#include "backend/backend.h"

/* Why a run has stopped, in words: "iteration limit". */
const char *cpals_stop_text(enum cpals_stop stop);

/* One iteration: updates every mode of a loaded backend in turn; *fit = the fit of the new model, m
 * as for backend_fit. Errors as backend_mttkrp, backend_update and backend_fit. */
enum status cpals_sweep(struct backend *b, const struct momentum *m, struct backend_fit *fit,
                        struct error *error);

/* Loads the model k, or a random one (options->random), and iterates until the options say to stop.
 * The model stays in the backend: that of the last iteration, or of an earlier one if rounding does
 * not explain why its fit is higher. Meanwhile k may be overwritten with a copy of the latter
 * (best_model.h). To resume, k is the model of the checkpoint. Every rank calls it with the rows
 * that are here, and all stop after the same iteration. `progress` may be NULL. */
enum status cpals_iterate(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                          struct progress *progress, struct cpals_result *result,
                          struct error *error);

/* Copies the model into k, arranged (backend_store_arranged), and computes the core consistency if
 * the options ask for it; then the backend has no model afterwards. Every rank calls it. Errors of
 * backend_store_arranged and core_consistency. */
enum status cpals_store(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                        struct progress *progress, struct cpals_result *result,
                        struct error *error);

#endif
