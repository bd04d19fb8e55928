/* Numbers that follow from the measurements of a benchmark. */
#ifndef BLCO_BENCH_DERIVED_H
#define BLCO_BENCH_DERIVED_H

#include "bench/bench.h"

/* *s = the statistics of sample (count), in any order; count is 1 or more. STATUS_MEMORY. */
enum status bench_statistics(const double *sample, uint64_t count, struct bench_statistics *s,
                             struct error *error);

/* Bytes of factor rows that MTTKRP of one mode gathers: nnz x (order - 1) rows, whatever the mode.
 */
double bench_gathered_bytes(const struct bench_result *r);

/* Seconds that MTTKRP of a mode by itself takes at least: whatever its kernel, it gathers
 * bench_gathered_bytes from caches, and moves in memory each nonzero, each row of the other factor
 * matrices and each row of M once. A mode that shares partial products with others can be faster.
 */
struct bench_floor {
    double cache, memory; /* the larger one is the floor */
};
struct bench_floor bench_floor_of(const struct bench_result *r, int mode);
double bench_floor_seconds(const struct bench_result *r, int mode);

/* Which of the two it is: "cache" or "memory". */
const char *bench_floor_name(const struct bench_result *r, int mode);

/* Seconds of an operation in an ALS iteration, summed over the modes. */
double bench_als_seconds(const struct bench_als *als, enum operation op);

/* Seconds to upload the tensor from pinned memory, at 16 bytes a nonzero: an index and a value. For
 * a backend with an upload rate only. */
double bench_transfer(const struct bench_result *r);

#endif
