/* Ranks send each other the rows of a model by messages, so that each rank gets consecutive rows.
 * Ranks that are threads of one process can use model_collect.h. */
#ifndef BLCO_MODEL_REDISTRIBUTE_H
#define BLCO_MODEL_REDISTRIBUTE_H

#include <stdbool.h>

#include "ranks/rank_rows.h"
#include "model/ktensor.h"

/* *rows = the rows of the model that this rank gets: if `evenly`, rank k of P gets the rows
 * I_n * k / P to I_n * (k + 1) / P - 1 of mode n; otherwise rank 0 gets all rows and the others
 * none. *part has this rank's rows; each row is sent by the rank that has solved it. The factor
 * matrices of *part are freed one by one as soon as they are sent; *part must not be used
 * afterwards. Beside *part and *rows, a rank needs about 128 MB for messages. Every rank
 * calls it. The caller frees *rows, which is empty on failure. STATUS_MEMORY, and failures of other
 * ranks. */
enum status model_redistribute(struct ktensor *rows, struct ktensor *part,
                               const struct rank_rows *ranks, bool evenly, struct error *error);

#endif
