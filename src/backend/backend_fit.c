#include "backend/backend_fit.h"

enum status backend_fit_of(struct backend_fit *fit, const struct fit_terms *t, int mode,
                           struct error *error)
{
    double residual_sq = fit_residual_sq(t);
    if (!isfinite(residual_sq))
        return error_set(error, STATUS_NUMERICAL, "mode %d: the squared residual is %g", mode,
                         residual_sq);
    const struct fit_numbers numbers = fit_of_terms(t);
    *fit = (struct backend_fit){numbers.value, numbers.noise, numbers.objective};
    return STATUS_OK;
}
