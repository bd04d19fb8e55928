/* Momentum on the GPU (numerics/momentum_step.h): the decision on the next sweep. All arrays are
 * double. Device pointers only; nothing of src/ is known here. Asynchronous; the launch's error is
 * returned. Nothing is done where *halt is not 0. */
#pragma once

#include "kernels/dense/dense_inverse.h"
#include "numerics/fit_terms.h"
#include "numerics/momentum_step.h"
#include "numerics/row_rules.h"

LAUNCHERS_BEGIN

/* The decision. */
struct dense_momentum {
    struct momentum state; /* what this sweep leaves to the next */
    struct momentum_step step;
    double penalty; /* of this fit, struct fit_terms */
};

/* A sweep. */
struct dense_momentum_fit {
    struct momentum before;              /* what the previous sweep left             */
    const struct dense_fit_terms *terms; /* device                                   */
    double norm_sq, epsilon;             /* struct fit_terms                         */
    double ridge;                        /* of the mode that was updated last        */
    const double *lambda;                /* (R): the norms of that mode; device      */
    uint32_t rank;
};

/* In one thread block: *m = what momentum_next decides after fit->before. kept (R) = lambda, unless
 * the sweep is rejected or undecided. */
cudaError_t dense_momentum_decide(const struct dense_momentum_fit *fit, struct dense_momentum *m,
                                  double *kept, const int *halt, cudaStream_t stream);

LAUNCHERS_END
