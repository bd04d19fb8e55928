/* The fit of a model, how much rounding may have changed it, and the objective, from the terms that
 * are there at the end of an iteration: the same code, and the same bits, on the host and on the
 * device. */
#pragma once

#include <float.h>
#include <math.h>

#include "numerics/precision.h"
#include "numerics/common_function.h"

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
    double epsilon;                /* relative error of <X, Y>, about, besides that of doubles    */
    double penalty; /* what the last step's ridge adds to ||X - Y||^2: ridge sum_r lambda_r^2   */
};

/* What the fit is computed from. */
struct fit_squares {
    double norm_sq;       /* ||X||^2, of the entries that count                        */
    double residual_sq;   /* ||X - Y||^2, each entry by its weight                     */
    double noise_sq;      /* by how much rounding may have changed `residual_sq`, about */
    double penalty;       /* struct fit_terms                                          */
    double components_sq; /* where rows have systems: of the components, each by itself, about what
                           * ||Y||^2 would be at listed entries alone if they did not cancel */
};

struct fit_numbers {
    double value;     /* 1 - ||X - Y|| / ||X||                                         */
    double noise;     /* by which rounding may have changed `value`, about             */
    double objective; /* 1 - sqrt(||X - Y||^2 + penalty) / ||X||: what ALS makes larger */
    double growth;    /* sqrt(components_sq) / ||X||                                */
};

/* 1 - sqrt(residual_sq / norm_sq); 1 where residual_sq is negative, by rounding. */
COMMON_FUNCTION double fit_of_residual(double residual_sq, double norm_sq)
{
    return 1 - sqrt(residual_sq > 0 ? residual_sq : 0) / sqrt(norm_sq);
}

/* The noise of ||X - Y||^2 where each row has a system of its own. That is the sum of the misfits
 * of listed entries, whose magnitudes have the sum `size`, and of `weight`, that of unlisted ones,
 * times ||Y||^2, whose terms have magnitudes of the sum `model_size`. Both are of a model that was
 * rounded (`epsilon`) after the misfits were summed: of components that cancel, each was. */
COMMON_FUNCTION double fit_noise_of_rows(const struct fit_squares *s, double size, double weight,
                                         double model_size, double epsilon)
{
    double size_sq = s->components_sq > s->norm_sq ? s->components_sq : s->norm_sq;
    double rounded = FIT_ROUNDINGS * epsilon * sqrt(size_sq);
    double of_misfits = rounded * (2 * sqrt(s->residual_sq > 0 ? s->residual_sq : 0) + rounded);
    return of_misfits +
           FIT_ROUNDINGS * (DBL_EPSILON * size + (DBL_EPSILON + 2 * epsilon) * weight * model_size);
}

/* The noise of the fit follows from that of ||X - Y||^2 by the derivative, or, where the residual
 * is no larger than its noise, by the root. */
COMMON_FUNCTION struct fit_numbers fit_of_squares(const struct fit_squares *s)
{
    double least_sq = s->residual_sq > 0 ? s->residual_sq : 0;
    struct fit_numbers fit;
    fit.value = fit_of_residual(s->residual_sq, s->norm_sq);
    fit.objective =
        s->penalty == 0 ? fit.value : fit_of_residual(s->residual_sq + s->penalty, s->norm_sq);
    fit.noise = fit.value - fit_of_residual(least_sq + s->noise_sq, s->norm_sq);
    double upwards = fit_of_residual(least_sq - s->noise_sq, s->norm_sq) - fit.value;
    if (upwards > fit.noise)
        fit.noise = upwards;
    /* the differences above lose what is below the epsilon of 1 */
    double slope = s->noise_sq / (2 * sqrt(least_sq + s->noise_sq) * sqrt(s->norm_sq));
    if (slope > fit.noise)
        fit.noise = slope;
    fit.growth = sqrt(s->components_sq / s->norm_sq);
    return fit;
}

/* The fit to counts: 1 - deviance / null, where `null` is the deviance of the model that it is
 * compared with; `size` is the sum of the magnitudes of what the deviance was summed from. */
COMMON_FUNCTION struct fit_numbers fit_of_deviance(double deviance, double null, double size)
{
    struct fit_numbers fit;
    fit.value = fit.objective = 1 - (deviance > 0 ? deviance : 0) / null;
    fit.noise = FIT_ROUNDINGS * DBL_EPSILON * (1 + size / null);
    fit.growth = 0;
    return fit;
}

/* The terms cancel where the fit is near 1: what rounding leaves of them, some epsilons of their
 * sizes, is the noise of ||X - Y||^2. */
COMMON_FUNCTION struct fit_squares fit_squares_of(const struct fit_terms *t)
{
    struct fit_squares s;
    s.norm_sq = t->norm_sq;
    s.residual_sq = t->norm_sq - 2 * t->inner + t->model_sq;
    s.noise_sq = FIT_ROUNDINGS * (DBL_EPSILON * (t->norm_sq + t->model_size) +
                                  rounded_product(2 * t->epsilon, t->inner_size));
    s.penalty = t->penalty;
    s.components_sq = 0;
    return s;
}

COMMON_FUNCTION struct fit_numbers fit_of_terms(const struct fit_terms *t)
{
    const struct fit_squares s = fit_squares_of(t);
    return fit_of_squares(&s);
}

/* Whether rounding may have changed the fit by so much that only the residual can tell what a sweep
 * has gained or lost. This happens when components cancel each other. Such a sweep may lower the
 * fit by about the noise of the fit before: where V is nearly singular and cut off, the cut takes
 * away the weights that make the noise. */
COMMON_FUNCTION int fit_is_blind(double noise, enum precision precision)
{
    return noise > (precision == PRECISION_SINGLE ? FIT_BLIND_SINGLE : FIT_BLIND_DOUBLE);
}

/* A fit or an objective that falls by this or less has not fallen. */
COMMON_FUNCTION double fit_slack(enum precision precision)
{
    return precision == PRECISION_SINGLE ? FIT_SLACK_SINGLE : FIT_SLACK_DOUBLE;
}
