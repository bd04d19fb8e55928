/* Operations on the columns of a tall row-major matrix, by all OpenMP threads. Results do not
 * depend on the number of threads. */
#ifndef BLCO_FACTOR_COLUMNS_H
#define BLCO_FACTOR_COLUMNS_H

#include <stdint.h>

#include "base/error.h"

/* For A (rows x R): norm[r] (R) = the 2-norm of column r, computed without overflow or underflow;
 * largest[r] (R) = the entry of largest magnitude of column r, with its sign; of equals, the first.
 * STATUS_MEMORY. */
enum status factor_columns_norms(const double *a, uint64_t rows, uint64_t rank, double *norm,
                                 double *largest, struct error *error);

/* C (Ra x Rb) = A' B for A (rows x Ra) and B (rows x Rb). STATUS_MEMORY. */
enum status factor_columns_products(const double *a, uint64_t rank_a, const double *b,
                                    uint64_t rank_b, uint64_t rows, double *c, struct error *error);

/* Column r of A (rows x R) becomes the old column from[r] divided by divisor[r]; `from` (R) is a
 * permutation. `buffer` is scratch, a row for each thread (omp_get_max_threads() x R). */
void factor_columns_rearrange(double *a, uint64_t rows, uint64_t rank, const uint64_t *from,
                              const double *divisor, double *buffer);

#endif
