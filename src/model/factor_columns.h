/* Columns of a tall row-major matrix, by all threads, with results that do not depend on how many
 * there are. */
#ifndef BLCO_FACTOR_COLUMNS_H
#define BLCO_FACTOR_COLUMNS_H

#include <stdint.h>

#include "base/error.h"

/* norm[r] receives the 2-norm of column r of A (rows x R), without overflow or underflow on the
 * way; largest[r] its entry of largest magnitude, the first of equals, with its sign. */
enum status factor_columns_norms(const double *a, uint64_t rows, uint64_t rank, double *norm,
                                 double *largest, struct error *error);

/* C (Ra x Rb) = A' B for A (rows x Ra) and B (rows x Rb). */
enum status factor_columns_products(const double *a, uint64_t rank_a, const double *b,
                                    uint64_t rank_b, uint64_t rows, double *c, struct error *error);

/* Column r becomes column source[r] divided by divisor[r]; `source` is a permutation. `buffer` has
 * room for one row per thread (omp_get_max_threads() x R). */
void factor_columns_rearrange(double *a, uint64_t rows, uint64_t rank, const uint64_t *source,
                              const double *divisor, double *buffer);

#endif
