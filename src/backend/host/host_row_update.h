/* The update of a mode where each row has a system of its own, because unlisted entries do not
 * count as listed ones do (numerics/row_term.h), or because values are counts
 * (numerics/poisson_term.h). */
#pragma once

#include "backend/host/host_state.h"

/* Arrays for the systems of all rows of a mode. STATUS_MEMORY. */
enum status host_row_systems_create(struct host_row_systems *s, const struct host_model *model,
                                    struct error *error);

/* Accepts an empty one. */
void host_row_systems_free(struct host_row_systems *s);

/* In place of an MTTKRP: h->solve.m = the new rows of `mode`, where this rank solves them, in the
 * scale of the entries to be; their scale is left in h->solve.column. STATUS_MEMORY; failures of
 * other ranks. */
enum status host_row_update_solve(struct host_state *h, int mode, struct error *error);

/* In place of the solve: h->solve.m becomes the factor matrix of `mode`, whole, with its Gram and
 * scales. STATUS_MEMORY; failures of other ranks. */
enum status host_row_update_take(struct host_state *h, int mode, struct error *error);

/* *s = what the fit is computed from; model_sq is ||Y||^2, model_size the sum of the magnitudes of
 * its terms. */
void host_row_update_squares(const struct host_state *h, int mode, double model_sq,
                             double model_size, struct fit_squares *s);

/* The fit of a model of counts, from a pass over the nonzeros in the ordering of `mode`.
 * STATUS_NUMERICAL where it is not finite; STATUS_MEMORY; failures of other ranks. */
enum status host_row_update_fit_counts(struct host_state *h, int mode, struct backend_fit *fit,
                                       struct error *error);
