/* The fit, and its error, from the terms that every backend has at the end of an iteration, or from
 * the residual; with momentum, also the decision on the next sweep. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "comm/comm.h"
#include "numerics/double_double.h"
#include "numerics/fit_terms.h"
#include "numerics/momentum_step.h"
#include "numerics/precision.h"
#include "tensor/shape.h"

/* The fit 1 - ||X - Y|| / ||X|| of the model Y of the tensor X; with momentum, also the step to the
 * next sweep. */
struct backend_fit {
    double value;
    double noise;             /* by how much rounding may have changed `value`, about           */
    double written;           /* by how much rounding of the model that is written may change an
                               * exact `value`, about; 0: no more than `noise`                */
    double objective;         /* the fit with the last step's ridge counted in (struct fit_numbers);
                               * a GPU counts it only with momentum                             */
    double penalty;           /* the ridge's part of ||X - Y||^2 / ||X||^2 there                 */
    double reciprocal;        /* the least reciprocal condition number of a V that the sweep solved
                               * with, about; 0: a V was cut off; 1: there was none           */
    double violation;         /* of a model of counts: the largest |min(a, g)| over the entries a of
                               * the factor matrices, with their weights, and their gradients g, as
                               * the updates found them; 0 at a minimum (Karush, Kuhn, Tucker) */
    double growth;            /* where rows have systems of their own: how large the components are
                               * at listed entries, about, relative to ||X|| */
    bool exact;               /* from the residual                                              */
    struct momentum momentum; /* the state after this fit (momentum_next), and ...     */
    struct momentum_step step; /* ... the next step; both zero without momentum         */
};

/* The relative error of <X, Y> from an M of this precision, of `rows` rows on all ranks. Entries
 * are rounded to floats independently of each other, so that the errors of many rows cancel. */
double backend_fit_epsilon(uint64_t rows, enum precision precision);

/* *fit from the squares (fit_of_squares). STATUS_NUMERICAL, with the (one-based) mode, where the
 * residual is not finite. */
enum status backend_fit_of(struct backend_fit *fit, const struct fit_squares *s, int mode,
                           struct error *error);

/* The same from the deviance of a model of counts (fit_of_deviance). */
enum status backend_fit_of_counts(struct backend_fit *fit, double deviance, double null,
                                  double size, int mode, struct error *error);

/* Whether rounding may lower the fit of another sweep from here on by more than the noise of this
 * one: its systems, of `rank` unknowns, are ill-conditioned (the sweep's `reciprocal`). */
bool backend_fit_may_fall(const struct backend_fit *fit, uint64_t rank, enum precision precision);

/* Decides on the next sweep, where *m is the state after the sweep before; NULL: no momentum. */
void backend_fit_decide(struct backend_fit *fit, const struct momentum *m);

/* *fit with the exact `value`, from the residual of factor matrices of this precision; if *fit was
 * blind, decides with that. The terms of ||Y||^2 have magnitudes of the sum `size` ||X||^2: of
 * components that cancel each other, each is rounded when the model is written. */
struct backend_fit backend_fit_exact(const struct backend_fit *fit, double value, double size,
                                     enum precision precision);

/* The fit from the residual itself, ||X - Y||^2, from a pass over the nonzeros in twice the digits
 * of a double.
 *
 * Computed in doubles, ||X - Y||^2 has an error of about 1e-16 ||X||^2, so that the fit of a Y near
 * X has only half of its digits. The cells without a nonzero, too many to visit, are counted by
 * ||Y||^2:
 *
 *   ||X - Y||^2 = sum over the nonzeros x, where Y has the value y, of x (x - 2 y), plus ||Y||^2
 *
 * Where unlisted entries have another weight than 1, so has ||Y||^2 (numerics/row_term.h).
 *
 * These terms cancel too, but with twice the digits the error is about 1e-30 ||X||^2, and the fit
 * has more digits than are printed. */

/* What a backend fills in, on each rank. The model has the value sum over r of weight[r] F_1(i_1,r)
 * ... F_N(i_N,r), where F_n is the factor matrix as it stands in the backend, whatever the norms of
 * its columns. */
struct backend_residual {
    int order;
    uint64_t rank;
    double norm_sq;                /* ||X||^2                                                   */
    double unlisted;               /* the weight of unlisted entries                            */
    double *weight;                /* (R); owned                                                */
    struct double_double nonzeros; /* the sum over the nonzeros that are here                   */
    struct double_double rounded;  /* how many of their values were rounded to floats           */
    struct double_double *gram[MAX_ORDER]; /* (R x R) F_n'F_n of the rows that this rank solves,
                                            * entries (i, j) with i <= j; owned                 */
};

/* Zeroes all sums; unlisted entries count as 1. The caller frees *r; it is empty on failure.
 * STATUS_MEMORY. */
enum status backend_residual_create(struct backend_residual *r, int order, uint64_t rank,
                                    struct error *error);

/* Accepts an empty one. */
void backend_residual_free(struct backend_residual *r);

/* *fit becomes the exact one (backend_fit_exact), from the *r of all ranks of c, which this
 * changes. Every rank calls it and gets the same bits. STATUS_NUMERICAL where the residual is not
 * finite; errors of comm_allgather. */
enum status backend_residual_fit(struct backend_residual *r, struct comm *c,
                                 enum precision precision, struct backend_fit *fit,
                                 struct error *error);
