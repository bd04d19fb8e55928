/* Several ranks, each with some rows of a model, arrange the model: no rank has it whole. */
#ifndef BLCO_MODEL_ARRANGE_H
#define BLCO_MODEL_ARRANGE_H

#include "comm/comm.h"
#include "model/ktensor_arrange.h"

/* ktensor_arrange for the rows of the model that are here; every rank of c calls this. `own` are
 * the rows that this rank answers for, such as the rows that it solves; lambda is the same on all
 * ranks, before and after. Order and signs are those of ktensor_arrange for the whole model, norms
 * but for rounding. A rank that fails ends the others (comm_abort), and *part is unchanged on all.
 * STATUS_MEMORY, and what another rank fails with. */
enum status model_arrange_together(struct ktensor *part, const struct ktensor_rows *own,
                                   struct comm *c, struct error *error);

/* column[0..count), what this rank's own rows tell, becomes what all rows of the model tell, with
 * the same bits on all ranks; a ktensor_combine, for ranks that arrange the rows otherwise. Every
 * rank of `comm`, a struct comm, calls it. STATUS_MEMORY, and what another rank fails with. */
enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error);

#endif
