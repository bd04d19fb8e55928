/* The rows that ranks have solved become one model. */
#ifndef BLCO_MODEL_GATHER_H
#define BLCO_MODEL_GATHER_H

#include "backend/backend_ranks.h"
#include "model/ktensor.h"

/* On rank 0 *whole = the model of which *part has the rows that are here, each row from the rank
 * that has solved the row; on the other ranks *whole stays empty. Every rank calls it. The caller
 * frees *whole. STATUS_MEMORY, and failures of other ranks. */
enum status model_gather(struct ktensor *whole, const struct ktensor *part,
                         const struct backend_ranks *ranks, struct error *error);

#endif
