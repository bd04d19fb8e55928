/* Numbers that follow from the measurements of a benchmark. */
#ifndef BLCO_BENCH_DERIVED_H
#define BLCO_BENCH_DERIVED_H

#include "bench/bench.h"

/* Bytes of factor rows that MTTKRP of one mode gathers: nnz x (order - 1) rows, whatever the mode.
 */
double bench_gathered_bytes(const struct bench_result *r);

/* Seconds that MTTKRP of a mode would take if it gathered factor rows at random, each at the rate
 * measured for a table as long as that factor, and wrote M once. MTTKRP can be faster where caches
 * hold rows that it needs again. */
double bench_floor(const struct bench_result *r, int mode);

/* Seconds of an operation in an ALS iteration, summed over the modes. */
double bench_als_seconds(const struct bench_als *als, enum operation op);

/* Seconds to upload the tensor from pinned memory, at 16 bytes a nonzero: an index and a value. For
 * a backend with an upload rate only. */
double bench_transfer(const struct bench_result *r);

#endif
