#include "backend/backend_fit.h"

#include <float.h>
#include <math.h>

#define ROUNDINGS 4 /* epsilons by which a term may be off, about */

double backend_fit_value(double residual_sq, double norm_sq)
{
    return 1 - sqrt(residual_sq > 0 ? residual_sq : 0) / sqrt(norm_sq);
}

enum status backend_fit_of(struct backend_fit *fit, const struct backend_fit_terms *t, int mode,
                           struct error *error)
{
    double residual_sq = t->norm_sq - 2 * t->inner + t->model_sq;
    if (!isfinite(residual_sq))
        return error_set(error, STATUS_NUMERICAL, "mode %d: the squared residual is %g", mode,
                         residual_sq);
    double noise_sq =
        ROUNDINGS * (DBL_EPSILON * (t->norm_sq + t->model_size) + 2 * t->epsilon * t->inner_size);
    double least_sq = residual_sq > 0 ? residual_sq : 0;
    fit->value = backend_fit_value(residual_sq, t->norm_sq);
    fit->noise = fmax(fit->value - backend_fit_value(least_sq + noise_sq, t->norm_sq),
                      backend_fit_value(least_sq - noise_sq, t->norm_sq) - fit->value);
    /* the difference above loses what is below the epsilon of 1 */
    double slope = noise_sq / (2 * sqrt(least_sq + noise_sq) * sqrt(t->norm_sq));
    if (slope > fit->noise)
        fit->noise = slope;
    return STATUS_OK;
}
