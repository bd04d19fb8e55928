/* The sum of the squares of values that come in pieces of any size, NaN (an unknown entry) left
 * out: the same bits whatever the pieces and the number of threads. The values are cut into parts
 * of NORM_PART; a part has eight interleaved sums of squares, which are added; then the parts are
 * added in order. */
#ifndef BLCO_NORM_SUM_H
#define BLCO_NORM_SUM_H

#include <stdint.h>

#define NORM_PART 4096

struct norm_sum {
    double sum;                /* of the parts that are full                             */
    uint64_t filled;           /* values of the last part, which is not full             */
    double waiting[NORM_PART]; /* (filled)                                               */
};

/* Begins the sum of no values. */
void norm_sum_begin(struct norm_sum *s);

/* Adds the next values, value[0..count). By all OpenMP threads. */
void norm_sum_add(struct norm_sum *s, const double *value, uint64_t count);

/* The sum of squares of all values so far. */
double norm_sum_total(const struct norm_sum *s);

#endif
