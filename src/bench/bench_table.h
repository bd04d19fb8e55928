/* What was measured, as a table for people. */
#ifndef BLCO_BENCH_TABLE_H
#define BLCO_BENCH_TABLE_H

#include <stdio.h>

#include "bench/bench.h"

/* At most 100 columns, but for the lines that name the tensor and the machine. */
void bench_table(FILE *stream, const struct bench_result *r);

#endif
