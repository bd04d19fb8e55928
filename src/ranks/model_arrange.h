/* Arranges a model that is spread over the ranks: each has some rows. */
#ifndef BLCO_MODEL_ARRANGE_H
#define BLCO_MODEL_ARRANGE_H

#include "comm/comm.h"
#include "model/ktensor_arrange.h"

/* ktensor_arrange for a model of which *part has this rank's rows; every rank of c calls this. Each
 * row of the model is among the `own` rows of exactly one rank; lambda is the same on all ranks,
 * before and after. Order and signs are those of ktensor_arrange for the whole model, norms agree
 * up to rounding. A rank that fails ends the others (comm_abort), and *part is unchanged on all.
 * STATUS_MEMORY, and failures of other ranks. */
enum status model_arrange_together(struct ktensor *part, const struct ktensor_rows *own,
                                   struct comm *c, struct error *error);

/* column[0..count), the statistics of this rank's own rows, become those of all rows of the model,
 * with the same bits on all ranks: a ktensor_combine, for callers that arrange the rows themselves.
 * Every rank of `comm`, a struct comm, calls it. STATUS_MEMORY, and failures of other ranks. */
enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error);

#endif
