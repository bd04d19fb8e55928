/* Operations on the columns of a tall row-major matrix, by all OpenMP threads. Results do not
 * depend on the number of threads. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Statistics of a column of a matrix, from some of its rows. Entries are scaled by the power of two
 * that brings `largest` near one before they are squared, so that no sum overflows or underflows.
 */
struct column {
    double largest; /* the entry of largest magnitude, with its sign; the first of equals  */
    double sum;     /* of the squares of the scaled entries                                */
    uint64_t first; /* the first of the rows, or the first row that has `largest`          */
};

/* Some rows of a factor matrix. All is borrowed. */
struct factor_rows {
    const double *a; /* (rows x R)                                              */
    uint64_t rows, rank;
    uint64_t first;      /* the rows are `first`, first + 1, ... of the matrix, */
    const uint64_t *row; /* or row[0], ..., row[rows - 1] unless NULL           */
};

/* column (R) = the statistics of each column from these rows. STATUS_MEMORY. */
enum status factor_columns_measure(const struct factor_rows *rows, struct column *column,
                                   struct error *error);

/* *to = the statistics from the rows of both, which have no row in common. The lower `first`
 * decides between equal entries: so either all rows of one come before all rows of the other, or
 * each `first` is the row of `largest`. */
void column_add(struct column *to, const struct column *from);

/* The 2-norm of the column in these rows. */
double column_norm(const struct column *c);

/* C (Ra x Rb) = A' B for A (rows x Ra) and B (rows x Rb) of as many rows. STATUS_MEMORY. */
enum status factor_columns_products(const struct factor_rows *a, const struct factor_rows *b,
                                    double *c, struct error *error);

/* C (rows x R) = A W for A (rows x R) and W (R x R); C is another array than A. */
void factor_columns_multiply(const double *a, uint64_t rows, uint64_t rank, const double *w,
                             double *c);

/* Column r of A (rows x R) becomes the old column from[r] divided by divisor[r]; `from` (R) is a
 * permutation. `buffer` is scratch, a row for each thread (omp_get_max_threads() x R). */
void factor_columns_rearrange(double *a, uint64_t rows, uint64_t rank, const uint64_t *from,
                              const double *divisor, double *buffer);
