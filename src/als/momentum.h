/* Momentum in a run: its state between two sweeps (numerics/momentum_step.h decides). */
#ifndef BLCO_MOMENTUM_H
#define BLCO_MOMENTUM_H

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "problem/initial_guess.h"

/* The momentum of a run on one backend. If that was opened without, `on` is false and the functions
 * below do nothing. */
struct momentum_run {
    bool on;
    struct momentum state;     /* after the last sweep                                  */
    struct momentum_step step; /* from the last sweep to the start of the next          */
    bool stepped;              /* the backend has made that step                        */
    int small;                 /* sweeps in a row that changed the fit by little        */
    bool counts;               /* the loss is Poisson's                                 */
};

/* Loads the model in k, or a random start if `random` is not NULL, or resumes from a checkpoint,
 * whose model is in k. A run with momentum may resume from a checkpoint of one without, and the
 * other way round. Errors as backend_resume; STATUS_MEMORY. */
enum status momentum_begin(struct momentum_run *m, struct backend *b, const struct ktensor *k,
                           const struct initial_guess *random, const struct checkpoint *from,
                           struct error *error);

/* The state for the fit of the next sweep (backend_fit); NULL without momentum. */
const struct momentum *momentum_state(const struct momentum_run *m);

/* Takes the decision that backend_fit made. Returns false if the sweep must be rejected. */
bool momentum_accepts(struct momentum_run *m, const struct backend_fit *fit);

/* Counts a sweep that decides nothing, because unlisted entries still fade: no step follows. */
void momentum_pass(struct momentum_run *m);

/* Notes whether an accepted sweep changed the fit by little. */
void momentum_note(struct momentum_run *m, bool small);

/* Whether the run may stop: after one small change for plain ALS, after two in a row with momentum
 * or of counts. */
bool momentum_may_stop(const struct momentum_run *m);

/* After a sweep: steps to the start of the next one, unless the run has converged. Errors of
 * backend_extrapolate. */
enum status momentum_go_on(struct momentum_run *m, struct backend *b, bool converged,
                           struct error *error);

/* To change the precision between two sweeps: momentum_pause puts the model into the backend in
 * place of extrapolated factor matrices, and momentum_begin_anew goes on from there without a
 * step. Errors of backend_extrapolate. */
enum status momentum_pause(struct momentum_run *m, struct backend *b, struct error *error);
void momentum_begin_anew(struct momentum_run *m, const struct backend *b);

/* Fills in the members of *about that concern momentum. */
void momentum_tell(const struct momentum_run *m, struct checkpoint_about *about);

/* After the last sweep: puts the model into the backend in place of extrapolated factor matrices.
 * If the last sweep was rejected, the backend still has its weights and first mode: then the first
 * mode is updated once more, *again is true, and *fit is that of the model. */
enum status momentum_end(struct momentum_run *m, struct backend *b, struct backend_fit *fit,
                         bool *again, struct error *error);

#endif
