/* Order statistics of samples. */
#ifndef BLCO_BENCH_STATISTICS_H
#define BLCO_BENCH_STATISTICS_H

#include <stdint.h>

#include "base/error.h"

/* Quartiles by linear interpolation between the sorted samples. */
struct bench_statistics {
    double least, lower, median, upper, most;
};

/* Of count (1 or more) samples, which are not changed. */
enum status bench_statistics(const double *sample, uint64_t count, struct bench_statistics *s,
                             struct error *error);

#endif
