/* Momentum between the sweeps of ALS: when a sweep begins with extrapolated factor matrices, how
 * far these go, and when a sweep is taken back. The same code, and the same bits, on the host and
 * on the device (D. Mitchell, N. Ye, H. De Sterck: *Nesterov acceleration of alternating least
 * squares for canonical tensor decomposition: momentum step size selection and restart mechanisms*,
 * Numerical Linear Algebra with Applications 27, 2020; restarts: B. O'Donoghue, E. Candes:
 * *Adaptive restart for accelerated gradient schemes*, Foundations of Computational Mathematics 15,
 * 2015).
 *
 * With A the unit columns after a sweep and S those after the sweep before, the next sweep begins
 * with Y = (1 + b) A - b S, where b = (t - 1) / t' goes from 0 towards 1 as Nesterov's sequence t
 * does: t' = (1 + sqrt(1 + 4 t^2)) / 2. Where a sweep that began with such a Y ends with a smaller
 * objective than the sweep before, it is taken back: the next one begins with S, as in plain ALS,
 * and t with 1. Components that cancel each other have large weights; where rounding then hides
 * what a sweep has gained, and is more than fits are compared by, nothing tells when Y leads
 * astray: the next sweep is plain, and t begins with 1. Directions are enough, since the sweep
 * finds the weights anew. */
#ifndef BLCO_MOMENTUM_STEP_H
#define BLCO_MOMENTUM_STEP_H

#include <math.h>

#include "kernels/shared/rounded.h"

#define MOMENTUM_PLAIN_SWEEPS 5     /* with which a run begins                                    */
#define MOMENTUM_FALL_DOUBLE  1e-12 /* an objective that falls by less has not fallen, ... */
#define MOMENTUM_FALL_SINGLE  1e-6  /* ... nor has one that falls by less in single precision     */
#define MOMENTUM_BLIND        1e-4  /* rounding that is larger hides what a sweep has gained      */

/* What one sweep leaves to the next. */
struct momentum {
    double t;         /* of Nesterov's sequence                                              */
    double objective; /* after the last sweep that was kept (kernels/shared/fit_terms.h) ... */
    double noise;     /* ... and by which rounding may have changed the fit then             */
    double fall;      /* an objective that falls by less has not fallen                      */
    int sweeps;       /* that were made, those that were taken back included                 */
    int restarts;     /* sweeps that were taken back                                         */
    int extrapolated; /* the next sweep begins with extrapolated factor matrices             */
    int taken_back;   /* the last sweep was                                                  */
};

/* What the next sweep begins with: Y = now A + before S. */
struct momentum_step {
    double now, before; /* (1 + b, -b); (1, 0): with A; (0, 1): with S */
};

/* Whether the step after so many sweeps is left out: Y would be A, and no step soon asks for S. */
ROUNDED_FUNCTION int momentum_is_plain(int sweeps)
{
    return sweeps <= MOMENTUM_PLAIN_SWEEPS;
}

/* A run of which so many sweeps were made without momentum. */
ROUNDED_FUNCTION struct momentum momentum_start(double fall, int sweeps)
{
    struct momentum m = {1, 0, 0, fall, sweeps, 0, 0, 0};
    return m;
}

/* Notes a sweep, with its objective and the noise of its fit, and decides on the next one. */
ROUNDED_FUNCTION struct momentum_step momentum_next(struct momentum *m, double objective,
                                                    double noise)
{
    struct momentum_step step = {1, 0};
    const double rounding = m->noise + noise;
    const int hidden = rounding > MOMENTUM_BLIND && fabs(objective - m->objective) <= rounding;
    const int first_again = m->taken_back;
    m->sweeps++;
    m->taken_back =
        m->extrapolated && objective < m->objective - (rounding > m->fall ? rounding : m->fall);
    m->extrapolated = 0;
    if (m->taken_back) {
        m->t = 1;
        m->restarts++;
        step.now = 0;
        step.before = 1;
        return step;
    }
    m->objective = objective;
    m->noise = noise;
    if (hidden)
        m->t = 1;
    if (momentum_is_plain(m->sweeps) || first_again || hidden)
        return step;
    const double t = (1 + sqrt(1 + rounded_product(4 * m->t, m->t))) / 2;
    const double b = (m->t - 1) / t;
    m->t = t;
    m->extrapolated = 1;
    step.now = 1 + b;
    step.before = -b;
    return step;
}

#endif
