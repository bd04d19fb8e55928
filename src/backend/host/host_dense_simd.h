/* Products of tall and thin matrices, the kernels of each vector length. */
#ifndef BLCO_HOST_DENSE_SIMD_H
#define BLCO_HOST_DENSE_SIMD_H

#include <stdbool.h>
#include <stdint.h>

/* C(p, :) = sum over k < terms of X(p, k) Y(k, :), for p < rows, or C + that where `add`; rows of C
 * and Y are `rank` apart, and X(p, k) stands at x[p * x_row + k * x_term]. */
struct host_dense_product {
    double *c;
    const double *x, *y;
    uint64_t x_row, x_term;
    uint64_t rows, terms, rank;
    bool add;
};

/* For columns [column, column + width), a tile. */
typedef void host_dense_tile(const struct host_dense_product *p, uint64_t column, uint64_t width);

struct host_dense_tiles {
    host_dense_tile *tile[2][4]; /* by overlap, vectors in the tile */
};

extern const struct host_dense_tiles host_dense_simd1, host_dense_simd2, host_dense_simd4,
    host_dense_simd8;

/* All columns of the product; of a square C that is symmetric only those rows of a column that
 * reach down to its tile's last, where `upper`: the upper triangle and a little more. */
void host_dense_multiply(const struct host_dense_product *p, bool upper);

/* C (rows x R) = X (rows x R) T (R x R). */
void host_dense_times_square(const double *x, const double *t, double *c, uint64_t rows,
                             uint64_t rank);

#endif
