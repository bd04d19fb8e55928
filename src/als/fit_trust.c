#include "als/fit_trust.h"

#include <math.h>

#define NOISE_PART 0.1 /* of the tolerance: less noise cannot pass for convergence */

enum status fit_trust_check(struct fit_trust *t, struct backend *b, bool due, double tolerance,
                            struct backend_fit *fit, struct error *error)
{
    const double value = fit->value;
    bool drowned = tolerance > 0 && fit->noise > NOISE_PART * tolerance;
    t->blind = fit_is_blind(fit->noise, b->precision);
    if (!due && !drowned && !t->blind)
        return STATUS_OK;
    TRY(backend_residual(b, fit, error));
    t->checks++;
    t->error = fmax(t->error, fabs(value - fit->value));
    return STATUS_OK;
}

void fit_trust_take(struct fit_trust *t, const struct backend_fit *fit)
{
    t->noise = fmax(fit->noise, fit->written);
    t->exact = fit->exact;
}

void fit_trust_note(struct fit_trust *t, const struct backend_fit *fit, double change,
                    enum precision precision)
{
    double fall = -change;
    if (fall > fmax(t->noise + fit->noise, fit_slack(precision))) {
        t->falls++;
        t->fall = fmax(t->fall, fall);
    }
    fit_trust_take(t, fit);
}
