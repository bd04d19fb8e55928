/* How far the fits of a run can be trusted: how many were computed from the residual, how wrong the
 * others were, and whether the fit fell. */
#ifndef BLCO_FIT_TRUST_H
#define BLCO_FIT_TRUST_H

#include "backend/backend.h"

struct fit_trust {
    bool exact;   /* the last fit was computed from the residual                     */
    bool blind;   /* rounding hid what the last sweep gained (fit_is_blind)          */
    double noise; /* estimate of the rounding error of the last fit, and of what writing the model
                   * changes it by */
    int checks;   /* how many fits were computed from the residual                   */
    double error; /* the largest error of the fits that these replaced               */
    int falls;    /* iterations in which the fit fell by more than rounding explains */
    double fall;  /* the largest of these falls                                      */
};

/* Replaces *fit, of the last sweep, by the fit from the residual (backend_residual) if `due`, if it
 * is blind, or if its noise could pass for a change of less than `tolerance` (0: never). Errors of
 * backend_residual. */
enum status fit_trust_check(struct fit_trust *t, struct backend *b, bool due, double tolerance,
                            struct backend_fit *fit, struct error *error);

/* Notes how exact this fit, the last one, is. */
void fit_trust_take(struct fit_trust *t, const struct backend_fit *fit);

/* Notes the fit of an accepted sweep with factor matrices of this precision, and its change since
 * the sweep before. */
void fit_trust_note(struct fit_trust *t, const struct backend_fit *fit, double change,
                    enum precision precision);

#endif
