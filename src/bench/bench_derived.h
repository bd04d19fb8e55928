/* What follows from the measurements of a benchmark. */
#ifndef BLCO_BENCH_DERIVED_H
#define BLCO_BENCH_DERIVED_H

#include "bench/bench.h"

/* Bytes of the other modes' rows that MTTKRP of any mode reads. */
double bench_gathered_bytes(const struct bench_result *r);

/* Seconds that MTTKRP of a mode takes at the least, were its rows gathered at random: each gather
 * at the rate measured for a table of that length, and M written once. */
double bench_floor(const struct bench_result *r, int mode);

/* Seconds of an operation in an ALS iteration, over all modes. */
double bench_als_seconds(const struct bench_als *als, enum operation op);

/* Seconds of the pinned transfer of 16 bytes a nonzero, an index and a value. */
double bench_transfer(const struct bench_result *r);

#endif
