/* Prints the measurements of a benchmark as tables for people. */
#ifndef BLCO_BENCH_TABLE_H
#define BLCO_BENCH_TABLE_H

#include <stdio.h>

#include "bench/bench.h"

/* At most 100 columns. */
void bench_table(FILE *stream, const struct bench_result *r);

#endif
