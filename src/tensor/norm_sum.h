/* The sum of the squares of values that come in pieces of any size: the same bits whatever the
 * pieces and the number of threads. Values are cut into chunks of NORM_CHUNK, counted from the
 * first value on; the squares of each chunk are summed in lanes, then the chunks' sums in their
 * order. */
#ifndef BLCO_NORM_SUM_H
#define BLCO_NORM_SUM_H

#include <stdint.h>

#define NORM_CHUNK 4096

struct norm_sum {
    double sum;      /* of the chunks that are full             */
    uint64_t filled; /* of the last chunk, which waits for more */
    double waiting[NORM_CHUNK];
};

/* Of no values. */
void norm_sum_begin(struct norm_sum *s);

/* The next values, value[0..count). By all OpenMP threads. */
void norm_sum_add(struct norm_sum *s, const double *value, uint64_t count);

/* Of all values so far. */
double norm_sum_total(const struct norm_sum *s);

#endif
