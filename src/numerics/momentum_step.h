/* Momentum between the sweeps of ALS: whether the next sweep begins with extrapolated factor
 * matrices, how far these go, and when a sweep is rejected. Host and GPU run the same code and get
 * the same bits (D. Mitchell, N. Ye, H. De Sterck: *Nesterov acceleration of alternating least
 * squares for canonical tensor decomposition: momentum step size selection and restart mechanisms*,
 * Numerical Linear Algebra with Applications 27, 2020; restarts: B. O'Donoghue, E. Candes:
 * *Adaptive restart for accelerated gradient schemes*, Foundations of Computational Mathematics 15,
 * 2015).
 *
 * With A the unit columns after a sweep and S those after the sweep before, the previous ones, the
 * next sweep begins with Y = (1 + b) A - b S. Here b = (t - 1) / t, and t = 1, 2, 3, ... takes b
 * from 0 towards 1. If a sweep that began with such a Y lowers the objective, it is rejected, and
 * momentum restarts: the next sweep begins with S, as in plain ALS, and t is 1 again. Directions
 * are enough, since a sweep computes the weights anew.
 *
 * Momentum is for slow sweeps. ALS often passes several saddle points; a run that leaves one with
 * much momentum may end in another, worse optimum than plain ALS. Therefore, after a sweep that
 * gains more than MOMENTUM_FAST, t is at most reach / sqrt(gain); where that is less than 1, a
 * plain sweep follows, and t is 1 again (tests/als/test_momentum_table.c compares both on a table
 * of tensors).
 *
 * Rows with systems of their own take Nesterov's sequence instead: b = (t - 1) / t' with the next
 * t' = (1 + sqrt(1 + 4 t^2)) / 2. Their reach is infinite where unlisted entries are unknown or
 * weigh less, and for Newton steps of counts: there momentum finds the model more often than plain
 * sweeps, which stay slow for a long time far from it. For multiplicative steps it is 0, since runs
 * with momentum after fast sweeps ended in worse optima.
 *
 * Components that cancel each other have large weights, and rounding then hides what a sweep has
 * gained (fit_is_blind). Such a fit decides nothing; the fit from the residual does. */
#pragma once

#include <math.h>

#include "numerics/fit_terms.h"

#define MOMENTUM_PLAIN_SWEEPS 5    /* with which a run begins                       */
#define MOMENTUM_FAST         1e-4 /* the gain of a sweep beyond which t is limited */
#define MOMENTUM_REACH        .06  /* where rows have no systems of their own       */

/* What one sweep leaves to the next. */
struct momentum {
    double t;                 /* of the sequence that gives b                                  */
    double objective;         /* after the last accepted sweep (numerics/fit_terms.h) ...      */
    double noise;             /* ... and by how much rounding may have changed the fit then    */
    double reach;             /* limits t after fast sweeps (problem_reach)                    */
    enum precision precision; /* of the factor matrices                                */
    int nesterov;             /* t is Nesterov's sequence                              */
    int sweeps;               /* so far, rejected ones included                        */
    int restarts;             /* sweeps so far that were rejected                      */
    int extrapolated;         /* the next sweep begins with extrapolated factor matrices */
    int rejected;             /* the last sweep was                                    */
    int undecided;            /* the last fit is blind; nothing else was noted of it   */
};

/* What the next sweep begins with: Y = now A + before S. */
struct momentum_step {
    double now, before; /* (1 + b, -b); (1, 0): with A; (0, 1): with S */
};

/* Whether no step follows so many sweeps: Y would be A, and no step soon needs S. */
COMMON_FUNCTION int momentum_is_plain(int sweeps)
{
    return sweeps <= MOMENTUM_PLAIN_SWEEPS;
}

/* After so many sweeps without momentum. */
COMMON_FUNCTION struct momentum momentum_start(enum precision precision, int sweeps)
{
    struct momentum m = {1, 0, 0, MOMENTUM_REACH, precision, 0, sweeps, 0, 0, 0, 0};
    return m;
}

/* Notes a sweep by its objective and the noise of its fit, and decides on the next one. If the fit
 * is blind, only that is noted, and the step is (0, 1), which writes nothing. */
COMMON_FUNCTION struct momentum_step momentum_next(struct momentum *m, double objective,
                                                   double noise)
{
    struct momentum_step step = {0, 1};
    m->undecided = fit_is_blind(noise, m->precision);
    if (m->undecided)
        return step;
    const double rounding = m->noise + noise, slack = fit_slack(m->precision);
    const double gain = objective - m->objective;
    const double limit = gain > MOMENTUM_FAST ? m->reach / sqrt(gain) : INFINITY; /* of t */
    const int first_again = m->rejected;
    m->sweeps++;
    m->rejected = m->extrapolated && gain < -(rounding > slack ? rounding : slack);
    if (m->rejected) {
        m->extrapolated = 0;
        m->t = 1;
        m->restarts++;
        return step;
    }
    if (gain > 0 || !m->extrapolated) /* small falls do not add up */
        m->objective = objective;
    m->noise = noise;
    m->extrapolated = 0;
    step.now = 1;
    step.before = 0;
    m->t = fmax(1.0, fmin(m->t, limit));
    if (momentum_is_plain(m->sweeps) || first_again || limit < 1)
        return step;
    const double t = m->t;
    m->t = m->nesterov ? (1 + sqrt(1 + rounded_product(4 * t, t))) / 2 : t + 1;
    const double b = (t - 1) / (m->nesterov ? m->t : t);
    m->extrapolated = 1;
    step.now = 1 + b;
    step.before = -b;
    return step;
}
