/* Numbers that follow from the measurements of a benchmark. */
#ifndef BLCO_BENCH_DERIVED_H
#define BLCO_BENCH_DERIVED_H

#include "bench/bench.h"

/* Bytes of the other modes' factor rows that MTTKRP of any mode reads: nnz x (order - 1) rows. */
double bench_gathered_bytes(const struct bench_result *r);

/* Seconds of the fastest MTTKRP of a mode, if its factor rows were gathered at random: each gather
 * at the rate measured for a table of that length, and M written once. MTTKRP can be faster where
 * caches serve it. */
double bench_floor(const struct bench_result *r, int mode);

/* Seconds of an operation in an ALS iteration, summed over the modes. */
double bench_als_seconds(const struct bench_als *als, enum operation op);

/* Seconds to upload the tensor from pinned memory: 16 bytes a nonzero, an index and a value. */
double bench_transfer(const struct bench_result *r);

#endif
