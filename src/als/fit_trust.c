#include "als/fit_trust.h"

#include <math.h>

#define NOISE_SHARE 0.1 /* of the tolerance: so much noise stops no run early */

enum status fit_trust_check(struct fit_trust *t, struct backend *b, bool due, double tolerance,
                            struct backend_fit *fit, struct error *error)
{
    double exact;
    bool drowned = tolerance > 0 && fit->noise > NOISE_SHARE * tolerance;
    t->blind = fit_is_blind(fit->noise, b->precision);
    bool asked = due || drowned || t->blind;
    if (!asked || backend_residual(b, &exact, error) != STATUS_OK)
        return error->status;
    t->checks++;
    t->error = fmax(t->error, fabs(fit->value - exact));
    *fit = backend_fit_exact(fit, exact);
    return STATUS_OK;
}

void fit_trust_note(struct fit_trust *t, const struct backend_fit *fit, double change,
                    enum precision precision)
{
    double fall = -change;
    if (fall > fmax(t->noise + fit->noise, fit_slack(precision))) {
        t->falls++;
        t->fall = fmax(t->fall, fall);
    }
    t->noise = fit->noise;
    t->exact = fit->exact;
}
