/* Writes the measurements of a benchmark as JSON for programs, with every sample. */
#ifndef BLCO_BENCH_RECORD_H
#define BLCO_BENCH_RECORD_H

#include "base/json.h"
#include "bench/bench_ranks.h"

/* Adds to the object that is open in j: tensor (with the name `tensor`), options, limits,
 * reference, mttkrp, als; of several ranks these are rank 0's, and ranks has grid, model and what
 * each rank measured. Modes count from 1; times are in seconds. An error is kept in j. `ranks` may
 * be NULL. */
void bench_record(struct json *j, const char *tensor, const struct bench_request *request,
                  const struct bench_result *r, const struct bench_ranks *ranks);

#endif
