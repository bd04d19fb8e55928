/* Prints the measurements of a benchmark as tables for people. */
#ifndef BLCO_BENCH_TABLE_H
#define BLCO_BENCH_TABLE_H

#include <stdio.h>

#include "bench/bench_ranks.h"

/* Prints all of *r to `stream`, at most 100 columns wide; times in milliseconds. */
void bench_table(FILE *stream, const struct bench_result *r);

/* Prints the grid, the measurements of each rank, and the predictions of the model. order: of the
 * tensor. */
void bench_table_ranks(FILE *stream, const struct bench_ranks *ranks, int order);

#endif
