/* The rows that ranks have solved become one model in memory that the ranks share. */
#ifndef BLCO_MODEL_COLLECT_H
#define BLCO_MODEL_COLLECT_H

#include "ranks/rank_rows.h"
#include "model/ktensor.h"

/* For ranks that share memory (struct comm): *whole, the same on all ranks and empty at first,
 * becomes the model of which *part has the rows that are here, each row from the rank that has
 * solved the row. All ranks copy with all their OpenMP threads. The factor matrices of *part are
 * freed one by one as soon as they are copied; the model must not be used afterwards. Every rank
 * calls it. The caller frees *whole when all ranks have returned, after a failure too, in which
 * *whole is undefined but for being a model to free. STATUS_MEMORY, and failures of other ranks. */
enum status model_collect(struct ktensor *whole, struct ktensor *part,
                        const struct rank_rows *ranks, struct error *error);

#endif
