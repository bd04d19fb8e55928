/* Whether the sweeps of a run are accelerated, and what that takes between two of them
 * (numerics/momentum_step.h has the decision). */
#ifndef BLCO_MOMENTUM_H
#define BLCO_MOMENTUM_H

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "problem/initial_guess.h"

/* The momentum of a run on one backend. Where that was opened without, `on` is false and the
 * functions below do nothing. */
struct momentum_run {
    bool on;
    struct momentum state;
    struct momentum_step step; /* with which the next sweep begins                       */
    int small;                 /* sweeps in a row that have changed the fit by little    */
    bool stepped;              /* it was made                                            */
    bool begins_anew;          /* the next sweep begins with the model, as the first did */
    bool by_residual;          /* the residual has decided on it; a GPU, which does not know the
                                * residual, has decided nothing                          */
};

/* Loads the model in k, or a random start where `random` is not NULL, and begins; or goes on from a
 * checkpoint, whose model k has. A checkpoint of a run without momentum begins, and a run without
 * goes on from the model of one with momentum. Errors as backend_resume; STATUS_MEMORY. */
enum status momentum_begin(struct momentum_run *m, struct backend *b, const struct ktensor *k,
                           const struct initial_guess *random, const struct checkpoint *from,
                           struct error *error);

/* After a sweep: false where it is to be taken back. The fit is not blind. */
bool momentum_keeps(struct momentum_run *m, const struct backend_fit *fit);

/* By how much the fit of a sweep may fall that has not fallen. */
double momentum_slack(const struct momentum_run *m);

/* Notes whether a sweep that was kept has changed the fit by little only. */
void momentum_note(struct momentum_run *m, bool small);

/* Whether a little change of the last sweep ends the run: one alone does where all sweeps so far
 * were plain. */
bool momentum_may_stop(const struct momentum_run *m);

/* After a sweep: prepares the next one; or, where the run has converged, leaves the model as it is.
 * Errors of backend_extrapolate. */
enum status momentum_go_on(struct momentum_run *m, struct backend *b, bool converged,
                           struct error *error);

/* Between two sweeps: the model becomes the factor matrices, so that it can change its form; then
 * the sequence begins anew. Errors of backend_accelerate and backend_extrapolate. */
enum status momentum_pause(struct momentum_run *m, struct backend *b, struct error *error);
enum status momentum_restart(struct momentum_run *m, struct backend *b, struct error *error);

/* What a checkpoint says of it, into *about. */
void momentum_tell(const struct momentum_run *m, struct checkpoint_about *about);

/* Behind the last sweep: the model becomes the factor matrices again. Where that sweep was taken
 * back, its first mode and the weights are still those of what was taken back: the first mode is
 * solved for once more, and *fit is that of the model; `again` tells. */
enum status momentum_end(struct momentum_run *m, struct backend *b, struct backend_fit *fit,
                         bool *again, struct error *error);

#endif
