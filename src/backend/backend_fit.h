/* The fit from the terms that both backends have at the end of an iteration, its error, and what
 * momentum makes of it. */
#ifndef BLCO_BACKEND_FIT_H
#define BLCO_BACKEND_FIT_H

#include <stdbool.h>

#include "base/error.h"
#include "numerics/fit_terms.h"
#include "numerics/momentum_step.h"
#include "numerics/precision.h"

/* 1 - ||X - Y|| / ||X||, of the tensor X and the model Y; with momentum, also what the next sweep
 * begins with. */
struct backend_fit {
    double value;
    double noise;     /* by how much rounding may have changed `value`, about           */
    double objective; /* the same with the last step's ridge (struct fit_numbers), which a GPU
                       * counts with momentum only                                      */
    double penalty;   /* what that ridge adds to ||X - Y||^2 / ||X||^2                  */
    bool exact;       /* from the residual                                              */
    struct momentum momentum;  /* what momentum_next has noted of this fit, and ...     */
    struct momentum_step step; /* ... its step; both zero without momentum              */
};

/* The relative error of <X, Y> from an M of so many rows, of all ranks: entries that are rounded to
 * floats are so independently of each other, so that errors of many rows cancel. */
double backend_fit_epsilon(uint64_t rows, enum precision precision);

/* *fit from the terms (fit_of_terms). STATUS_NUMERICAL, with the (one-based) mode, where the
 * residual is not finite. */
enum status backend_fit_of(struct backend_fit *fit, const struct fit_terms *terms, int mode,
                           struct error *error);

/* Decides on the next sweep after *m, which the sweep before has left; NULL: without momentum. */
void backend_fit_decide(struct backend_fit *fit, const struct momentum *m);

/* The fit of the same model, `value` of which comes from the residual, which decides if *fit was
 * blind. */
struct backend_fit backend_fit_exact(const struct backend_fit *fit, double value);

#endif
