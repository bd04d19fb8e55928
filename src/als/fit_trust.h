/* How far the fits of a run can be trusted: which were computed from the residual, by how much the
 * others were off, and whether the fit fell. */
#ifndef BLCO_FIT_TRUST_H
#define BLCO_FIT_TRUST_H

#include "backend/backend.h"

struct fit_trust {
    bool exact;   /* the last fit was computed from the residual                     */
    bool blind;   /* rounding hid what the last sweep gained (fit_is_blind)          */
    double noise; /* by which rounding may have changed the last fit, about          */
    int checks;   /* fits that were computed from the residual                       */
    double error; /* the most by which the fits that these replaced were off         */
    int falls;    /* iterations in which the fit fell by more than rounding explains */
    double fall;  /* the most by which it fell                                       */
};

/* *fit, of the last sweep, becomes that from the residual (backend_residual) if `due`, if its noise
 * could pass for a change of less than `tolerance`, which is not 0, or if it is blind: then the
 * residual also decides on the next sweep. Errors of backend_residual. */
enum status fit_trust_check(struct fit_trust *t, struct backend *b, bool due, double tolerance,
                            struct backend_fit *fit, struct error *error);

/* Notes the fit of a sweep that was accepted, of factor matrices of this precision, and its change
 * since the one before. */
void fit_trust_note(struct fit_trust *t, const struct backend_fit *fit, double change,
                    enum precision precision);

#endif
