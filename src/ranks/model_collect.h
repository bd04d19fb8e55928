/* Ranks that are threads of one process copy the rows that they have solved into one model.
 * Processes use model_redistribute.h. */
#ifndef BLCO_MODEL_COLLECT_H
#define BLCO_MODEL_COLLECT_H

#include "ranks/rank_rows.h"
#include "model/ktensor.h"

/* *whole, the same object on all ranks and empty at first, becomes the model. *part has this rank's
 * rows; each row is copied by the rank that has solved it, with all OpenMP threads of the rank. The
 * factor matrices of *part are freed one by one as soon as they are copied; *part must not be used
 * afterwards. Every rank calls it. The caller frees *whole when all ranks have returned; after a
 * failure it can only be freed. STATUS_MEMORY, and failures of other ranks. */
enum status model_collect(struct ktensor *whole, struct ktensor *part,
                          const struct rank_rows *ranks, struct error *error);

#endif
