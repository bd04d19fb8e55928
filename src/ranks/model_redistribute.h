/* Gives the rows of a model, which the ranks have solved, to other ranks: by messages so that each
 * rank gets consecutive rows, or, where ranks are threads of one process, into one model. */
#ifndef BLCO_MODEL_REDISTRIBUTE_H
#define BLCO_MODEL_REDISTRIBUTE_H

#include <stdbool.h>

#include "model/ktensor.h"
#include "ranks/rank_rows.h"

/* *rows = the rows of the model that this rank gets: if `evenly`, rank k of P gets the rows I_n * k
 * / P to I_n * (k + 1) / P - 1 of mode n; otherwise rank 0 gets all rows and the others none. *part
 * has this rank's rows; each row is sent by the rank that has solved it. The factor matrices of
 * *part are freed one by one as soon as they are sent; *part must not be used afterwards. Besides
 * *part and *rows, a rank needs about 128 MB for messages. Every rank calls it. The caller frees
 * *rows, which is empty on failure. STATUS_MEMORY, and failures of other ranks. */
enum status model_redistribute(struct ktensor *rows, struct ktensor *part,
                               const struct rank_rows *ranks, bool evenly, struct error *error);

/* For ranks that are threads of one process. *whole, the same object on all ranks and empty at
 * first, becomes the model. *part has this rank's rows; each row is copied by the rank that has
 * solved it, with all OpenMP threads of the rank. The factor matrices of *part are freed one by one
 * as soon as they are copied; *part must not be used afterwards. Every rank calls it. The caller
 * frees *whole when all ranks have returned; after a failure it can only be freed. STATUS_MEMORY,
 * and failures of other ranks. */
enum status model_collect(struct ktensor *whole, struct ktensor *part,
                          const struct rank_rows *ranks, struct error *error);

#endif
