/* The update of a mode where each row has a system of its own (numerics/row_term.h), because
 * unlisted entries do not count as listed ones do, or because values are counts. Each mode has an
 * ordering of its own, in device memory or, on one GPU, streamed; several GPUs sum the systems of
 * common rows. */
#pragma once

#include "backend/cuda/device_state.h"
#include "numerics/fit_terms.h"

/* Fails where a GPU cannot do this: STATUS_INPUT. *request then has orderings of all modes, and
 * the systems' bytes. */
enum status device_row_update_plan(struct plan_request *request,
                                   const struct backend_options *options, struct error *error);

/* Does nothing where rows share a system. The caller closes it, also after a failure.
 * STATUS_MEMORY. */
enum status device_row_update_open(struct device_state *s, struct error *error);
void device_row_update_close(struct device_state *s);

/* Where values are rates, sum (R, device) = the column sums over all ranks of a matrix of mode n's
 * rows. Asynchronous, on s->stream. */
enum status device_row_update_sum_columns(struct device_state *s, int n, const void *rows,
                                          double *sum, struct error *error);

/* Queues the sums, over all ranks, of the values at the entries, and what the model has everywhere,
 * from a pass over the ordering of `mode`. */
enum status device_row_update_values(struct device_state *s, int mode, struct error *error);

/* In place of an MTTKRP: M = the new rows of `mode` that this rank solves, in units of the other
 * modes' unit columns, as they are without systems of rows after the product with V^+.
 * Asynchronous. */
enum status device_row_update_solve(struct device_state *s, int mode, struct error *error);

/* Queues what device_row_update_fit needs in s->result, after the update of `mode`. */
enum status device_row_update_sums(struct device_state *s, int mode, struct error *error);

/* *fit from s->result. */
enum status device_row_update_fit(const struct device_state *s, int mode, struct backend_fit *fit,
                                  struct error *error);
