/* The fit from the terms that both backends have at the end of an iteration, and its error. */
#ifndef BLCO_BACKEND_FIT_H
#define BLCO_BACKEND_FIT_H

#include "base/error.h"

/* 1 - ||X - Y|| / ||X||, of the tensor X and the model Y. */
struct backend_fit {
    double value;
    double noise; /* by which rounding may have changed `value`, about */
};

/* ||X - Y||^2 = ||X||^2 - 2 <X, Y> + ||Y||^2. */
struct backend_fit_terms {
    double norm_sq;                /* ||X||^2                                                   */
    double inner, model_sq;        /* <X, Y>, ||Y||^2                                           */
    double inner_size, model_size; /* the sums of the magnitudes of what both were summed from */
    double epsilon;                /* the relative error of <X, Y>, about, beside that of doubles */
};

/* *fit from the terms. They cancel where the fit is near 1: what rounding leaves of them, some
 * epsilons of their sizes, is `noise` of ||X - Y||^2, and of the fit by its derivative, or where
 * the residual is no larger than that by its root. STATUS_NUMERICAL, with the (one-based) mode,
 * where the residual is not finite. */
enum status backend_fit_of(struct backend_fit *fit, const struct backend_fit_terms *terms, int mode,
                           struct error *error);

/* 1 - sqrt(residual_sq / norm_sq); 1 where residual_sq is negative, by rounding. */
double backend_fit_value(double residual_sq, double norm_sq);

#endif
