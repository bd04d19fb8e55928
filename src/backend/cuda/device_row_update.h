/* The update of a mode where each row has a system of its own (numerics/row_term.h), because
 * unlisted entries do not count as listed ones do. One GPU alone, all orderings in its memory. */
#ifndef BLCO_DEVICE_ROW_UPDATE_H
#define BLCO_DEVICE_ROW_UPDATE_H

#include "backend/cuda/device_state.h"
#include "numerics/fit_terms.h"

/* Fails where a GPU cannot do this: STATUS_INPUT. *request then has orderings of all modes in
 * device memory, and the systems' bytes. */
enum status device_row_update_plan(struct plan_request *request,
                                   const struct backend_options *options, struct error *error);

/* Does nothing where rows share a system. STATUS_MEMORY. */
enum status device_row_update_open(struct device_state *s, const struct problem *problem,
                                   int exponent, struct error *error);

/* In place of an MTTKRP: M = the new rows of `mode`, in units of the other modes' unit columns, as
 * they are without systems of rows after the product with V^+. Waits where the weights of the model
 * were only loaded, otherwise asynchronous. */
enum status device_row_update_solve(struct device_state *s, int mode, struct error *error);

/* Queues what device_row_update_squares needs in s->result, after the update of `mode`. */
enum status device_row_update_sums(struct device_state *s, int mode, struct error *error);

/* *squares = what the fit is computed from. */
void device_row_update_squares(const struct device_state *s, int mode, struct fit_squares *squares);

#endif
