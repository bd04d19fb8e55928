/* Momentum in a run: what it takes between two sweeps (numerics/momentum_step.h decides). */
#ifndef BLCO_MOMENTUM_H
#define BLCO_MOMENTUM_H

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "problem/initial_guess.h"

/* The momentum of a run on one backend. If that was opened without, `on` is false and the functions
 * below do nothing. */
struct momentum_run {
    bool on;
    struct momentum state;     /* what the last sweep has left, ...                    */
    struct momentum_step step; /* ... and what it decided about the next one           */
    bool stepped;              /* the factor matrices are what the next one begins with */
    int small;                 /* sweeps in a row that have changed the fit by little  */
};

/* Loads the model in k, or a random start where `random` is not NULL; or goes on from a checkpoint,
 * whose model k has. A run with momentum may go on from a checkpoint of one without, and the other
 * way round. Errors as backend_resume; STATUS_MEMORY. */
enum status momentum_begin(struct momentum_run *m, struct backend *b, const struct ktensor *k,
                           const struct initial_guess *random, const struct checkpoint *from,
                           struct error *error);

/* What the next sweep's fit decides by (backend_fit); NULL without momentum. */
const struct momentum *momentum_state(const struct momentum_run *m);

/* Takes the decision that came with the fit of a sweep. Returns false if the sweep must be
 * rejected. */
bool momentum_accepts(struct momentum_run *m, const struct backend_fit *fit);

/* Notes whether an accepted sweep has changed the fit by little. */
void momentum_note(struct momentum_run *m, bool small);

/* Whether the run may stop: after one small change for plain ALS, after two in a row with momentum.
 */
bool momentum_may_stop(const struct momentum_run *m);

/* After a sweep: makes what the next one begins with, unless the run has converged. Errors of
 * backend_extrapolate. */
enum status momentum_go_on(struct momentum_run *m, struct backend *b, bool converged,
                           struct error *error);

/* Between two sweeps: makes the model the factor matrices, so that its precision can change; after
 * that, momentum begins anew with the model. Errors of backend_extrapolate. */
enum status momentum_pause(struct momentum_run *m, struct backend *b, struct error *error);
void momentum_begin_anew(struct momentum_run *m, const struct backend *b);

/* What a checkpoint has of it, into *about. */
void momentum_tell(const struct momentum_run *m, struct checkpoint_about *about);

/* After the last sweep: makes the model the factor matrices. If that sweep was rejected, the first
 * mode and the weights are still the rejected ones: then the first mode is solved for once more,
 * *again is true, and *fit is that of the model. */
enum status momentum_end(struct momentum_run *m, struct backend *b, struct backend_fit *fit,
                         bool *again, struct error *error);

#endif
