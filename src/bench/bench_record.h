/* What was measured, as JSON for programs: every sample. */
#ifndef BLCO_BENCH_RECORD_H
#define BLCO_BENCH_RECORD_H

#include "base/json.h"
#include "bench/bench.h"

/* Members of the present object: tensor, options, limits, reference, mttkrp, als. Modes count
 * from 1. Failures stay in j. */
void bench_record(struct json *j, const char *tensor, const struct bench_request *request,
                  const struct bench_result *r);

#endif
