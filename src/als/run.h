/* The state of a run of ALS, for the loop in cpals.c. Implemented in run_fit.c (which fit and which
 * model count) and run_stop.c (when the run stops, and what it saves then). */
#ifndef BLCO_RUN_H
#define BLCO_RUN_H

#include "als/cpals_options.h"
#include "als/momentum.h"
#include "base/page_touch.h"

struct run {
    struct backend *b; /* borrowed, as options, progress and result are      */
    const struct cpals_options *options;
    struct saver saver;
    struct weight_history weights;
    struct momentum_run momentum;
    struct best_model best;
    struct page_touch pages; /* of the model, until it is written                              */
    struct progress *progress;
    struct cpals_result *result;
    bool fading;     /* in the last sweep, unlisted entries counted more than the problem says   */
    bool comparable; /* its fit and the one before are those of the same problem                 */
};

/* Whether the last change of the fit is below the tolerance. The changes from no fit to the first
 * one, from one in single precision to one in double, within single, and while unlisted entries
 * fade do not count. */
bool run_changed_little(const struct run *run);

/* After a sweep: accepts its fit, or rejects the sweep and keeps the fit of the sweep before.
 * Errors of best_model_note. */
enum status run_note_sweep(struct run *run, const struct backend_fit *fit, struct error *error);

/* Between two sweeps: changes from single precision to double when that is due. Errors of
 * backend_widen, backend_residual and backend_save. */
enum status run_switch_precision(struct run *run, struct error *error);

/* After the last sweep: loads the result, the model of the last accepted sweep or of the best one,
 * into the backend. Errors of momentum_end, backend_residual and best_model_restore. */
enum status run_end_sweeps(struct run *run, struct error *error);

/* Whether the run has converged or reached its last iteration. */
enum cpals_stop run_stop(const struct run *run);

/* Decides whether the run stops, the same on all ranks; prepares the next sweep unless the run has
 * converged; saves a checkpoint if one is due or the run stops. Errors of
 * backend_extrapolate; another rank's failure. */
enum status run_go_on(struct run *run, struct error *error);

#endif
