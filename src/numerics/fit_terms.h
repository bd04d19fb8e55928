/* The fit of a model, how much rounding may have changed it, and the objective, from the terms that
 * are there at the end of an iteration: the same code, and the same bits, on the host and on the
 * device. */
#ifndef BLCO_FIT_TERMS_H
#define BLCO_FIT_TERMS_H

#include <float.h>
#include <math.h>

#include "numerics/precision.h"
#include "numerics/rounded.h"

#define FIT_BLIND_DOUBLE 1e-6  /* noise above this hides what a sweep gains or loses ... */
#define FIT_BLIND_SINGLE 1e-4  /* ... and this in single precision                       */
#define FIT_SLACK_DOUBLE 1e-12 /* a fit that falls by less has not fallen ... */
#define FIT_SLACK_SINGLE 1e-6  /* ... and this in single precision            */
#define FIT_ROUNDINGS    4     /* epsilons by which a term may be off, about */

/* ||X - Y||^2 = ||X||^2 - 2 <X, Y> + ||Y||^2, of the tensor X and the model Y. */
struct fit_terms {
    double norm_sq;                /* ||X||^2                                                   */
    double inner, model_sq;        /* <X, Y>, ||Y||^2                                           */
    double inner_size, model_size; /* the sums of the magnitudes of what both were summed from */
    double epsilon;                /* the relative error of <X, Y>, about, beside that of doubles */
    double penalty; /* what the last step's ridge adds to ||X - Y||^2: ridge sum_r lambda_r^2   */
};

struct fit_numbers {
    double value;     /* 1 - ||X - Y|| / ||X||                                         */
    double noise;     /* by which rounding may have changed `value`, about             */
    double objective; /* 1 - sqrt(||X - Y||^2 + penalty) / ||X||: what ALS makes larger */
};

/* 1 - sqrt(residual_sq / norm_sq); 1 where residual_sq is negative, by rounding. */
ROUNDED_FUNCTION double fit_of_residual(double residual_sq, double norm_sq)
{
    return 1 - sqrt(residual_sq > 0 ? residual_sq : 0) / sqrt(norm_sq);
}

ROUNDED_FUNCTION double fit_residual_sq(const struct fit_terms *t)
{
    return t->norm_sq - 2 * t->inner + t->model_sq;
}

/* The terms cancel where the fit is near 1: what rounding leaves of them, some epsilons of their
 * sizes, is noise of ||X - Y||^2, and of the fit by its derivative, or where the residual is no
 * larger than that by its root. */
ROUNDED_FUNCTION struct fit_numbers fit_of_terms(const struct fit_terms *t)
{
    double residual_sq = fit_residual_sq(t), least_sq = residual_sq > 0 ? residual_sq : 0;
    double noise_sq = FIT_ROUNDINGS * (DBL_EPSILON * (t->norm_sq + t->model_size) +
                                       rounded_product(2 * t->epsilon, t->inner_size));
    struct fit_numbers fit;
    fit.value = fit_of_residual(residual_sq, t->norm_sq);
    fit.objective =
        t->penalty == 0 ? fit.value : fit_of_residual(residual_sq + t->penalty, t->norm_sq);
    fit.noise = fit.value - fit_of_residual(least_sq + noise_sq, t->norm_sq);
    double upwards = fit_of_residual(least_sq - noise_sq, t->norm_sq) - fit.value;
    if (upwards > fit.noise)
        fit.noise = upwards;
    /* the differences above lose what is below the epsilon of 1 */
    double slope = noise_sq / (2 * sqrt(least_sq + noise_sq) * sqrt(t->norm_sq));
    if (slope > fit.noise)
        fit.noise = slope;
    return fit;
}

/* Whether rounding may have changed the fit by so much that only the residual can tell what a sweep
 * has gained or lost. This happens when components cancel each other. Such a sweep may lower the
 * fit by about the noise of the fit before: where V is nearly singular and cut off, the cut takes
 * away the weights that make the noise. */
ROUNDED_FUNCTION int fit_is_blind(double noise, enum precision precision)
{
    return noise > (precision == PRECISION_SINGLE ? FIT_BLIND_SINGLE : FIT_BLIND_DOUBLE);
}

/* A fit or an objective that falls by this or less has not fallen. */
ROUNDED_FUNCTION double fit_slack(enum precision precision)
{
    return precision == PRECISION_SINGLE ? FIT_SLACK_SINGLE : FIT_SLACK_DOUBLE;
}

#endif
