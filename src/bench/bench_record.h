/* Writes the measurements of a benchmark as JSON for programs, with every sample. */
#ifndef BLCO_BENCH_RECORD_H
#define BLCO_BENCH_RECORD_H

#include "base/json.h"
#include "bench/bench.h"

/* Adds to the object that is open in j: tensor (with the name `tensor`), options, limits,
 * reference, mttkrp, als. Modes count from 1; times are in seconds. An error is kept in j. */
void bench_record(struct json *j, const char *tensor, const struct bench_request *request,
                  const struct bench_result *r);

#endif
