/* Prints the measurements of a benchmark as tables for people. */
#ifndef BLCO_BENCH_TABLE_H
#define BLCO_BENCH_TABLE_H

#include <stdio.h>

#include "bench/bench.h"

/* Prints all of *r to `stream`, at most 100 columns wide; times in milliseconds. */
void bench_table(FILE *stream, const struct bench_result *r);

#endif
