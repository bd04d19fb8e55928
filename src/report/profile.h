/* The columns of a factor matrix as lines that a page can show: however many rows there are, a
 * profile has few columns. Each has the least and the largest entry of its rows, so that no peak is
 * lost. */
#ifndef BLCO_PROFILE_H
#define BLCO_PROFILE_H

#include <stdint.h>

#include "base/error.h"

struct profile {
    uint64_t columns;   /* C, at most as many as rows                                   */
    double *low, *high; /* (C x R) the least and largest finite entry; NaN where there is
                         * none. Column c has the rows c I / C to (c + 1) I / C - 1. Owned */
};

/* *p = the profiles of the columns of A (rows x R, row-major) in `columns` columns, or as many as
 * there are rows. All OpenMP threads read A once. The caller frees *p with profile_free; it is
 * empty on failure. STATUS_MEMORY. */
enum status profile_take(struct profile *p, const double *a, uint64_t rows, uint64_t rank,
                         uint64_t columns, struct error *error);

/* Accepts an empty one. */
void profile_free(struct profile *p);

/* How much neighbouring rows resemble each other: the correlation of a column's rows i and i + 1,
 * over at most 16384 pairs that are spread evenly, the mean over the columns of A (rows x R) that
 * are finite and not constant; 0 where there are none. */
double profile_smoothness(const double *a, uint64_t rows, uint64_t rank);

#endif
