#include "backend/backend_fit.h"

double backend_fit_epsilon(uint64_t rows, enum precision precision)
{
    return precision == PRECISION_SINGLE ? FLT_EPSILON / sqrt((double)rows) : DBL_EPSILON;
}

enum status backend_fit_of(struct backend_fit *fit, const struct fit_squares *s, int mode,
                           struct error *error)
{
    if (!isfinite(s->residual_sq))
        return error_set(error, STATUS_NUMERICAL, "mode %d: the squared residual is %g", mode,
                         s->residual_sq);
    const struct fit_numbers numbers = fit_of_squares(s);
    *fit = (struct backend_fit){.value = numbers.value,
                                .noise = numbers.noise,
                                .objective = numbers.objective,
                                .penalty = s->penalty / s->norm_sq};
    return STATUS_OK;
}

enum status backend_fit_of_counts(struct backend_fit *fit, double deviance, double null,
                                  double size, int mode, struct error *error)
{
    if (!isfinite(deviance))
        return error_set(error, STATUS_NUMERICAL, "mode %d: the deviance is %g", mode, deviance);
    const struct fit_numbers numbers = fit_of_deviance(deviance, null, size);
    *fit = (struct backend_fit){.value = numbers.value,
                                .noise = numbers.noise,
                                .objective = numbers.objective,
                                .exact = true};
    return STATUS_OK;
}

void backend_fit_decide(struct backend_fit *fit, const struct momentum *m)
{
    if (!m)
        return;
    fit->momentum = *m;
    fit->step = momentum_next(&fit->momentum, fit->objective, fit->noise);
}

double backend_fit_exact_noise(double fit, enum precision precision)
{
    const double d = precision == PRECISION_SINGLE ? FLT_EPSILON / 2 : 0;
    return fmax(hypot(1 - fit, d) - (1 - fit), DBL_EPSILON);
}

struct backend_fit backend_fit_exact(const struct backend_fit *fit, double value,
                                     enum precision precision)
{
    const double of_norm = 1 - value;
    struct backend_fit exact = *fit;
    exact.value = exact.objective = value;
    if (fit->penalty > 0)
        exact.objective = 1 - sqrt(of_norm * of_norm + fit->penalty);
    exact.noise = backend_fit_exact_noise(value, precision);
    exact.exact = true;
    if (fit->momentum.undecided)
        backend_fit_decide(&exact, &fit->momentum);
    return exact;
}
