/* The least, the quartiles and the most of a series of samples. */
#ifndef BLCO_BENCH_STATISTICS_H
#define BLCO_BENCH_STATISTICS_H

#include <stdint.h>

#include "base/error.h"

/* In the samples' unit. Quartiles by linear interpolation between the sorted samples. */
struct bench_statistics {
    double least, lower, median, upper, most;
};

/* *s = the statistics of sample (count), in any order; count is 1 or more. STATUS_MEMORY. */
enum status bench_statistics(const double *sample, uint64_t count, struct bench_statistics *s,
                             struct error *error);

#endif
