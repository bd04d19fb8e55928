/* Products of tall and thin matrices. Implemented in host_dense.c and, for each SIMD
 * width, in host_dense_simd.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* C (rows x R) = X (rows x terms) Y (terms x R), or C + X Y. C and Y are row-major; X(i, k) stands
 * at x[i * x_row + k * x_term]. */
struct host_dense_product {
    double *c;
    const double *x, *y;
    uint64_t x_row, x_term;
    uint64_t rows, terms, rank;
    bool add; /* C + X Y */
};

/* Columns [column, column + width) of the product, a tile. */
typedef void host_dense_tile(const struct host_dense_product *p, uint64_t column, uint64_t width);

struct host_dense_tiles {
    host_dense_tile *tile[4]; /* by vectors of the tile - 1 */
};

extern const struct host_dense_tiles host_dense_double1, host_dense_double2, host_dense_double4,
    host_dense_double8;

/* The whole product. Where `upper`, for a symmetric C: only its upper triangle and, in each tile of
 * columns, the rows down to the tile's last column; the rest of C is left as it is. */
void host_dense_multiply(const struct host_dense_product *p, bool upper);

/* G (R x R) = A' A of A (rows x R), to be given to host_dense_multiply. */
static inline struct host_dense_product host_dense_gram_product(double *g, const double *a,
                                                                uint64_t rows, uint64_t rank)
{
    return (struct host_dense_product){.c = g,
                                       .x = a,
                                       .y = a,
                                       .x_row = 1,
                                       .x_term = rank,
                                       .rows = rank,
                                       .terms = rows,
                                       .rank = rank};
}

/* C (rows x R) = X (rows x R) T (R x R). */
void host_dense_times_square(const double *x, const double *t, double *c, uint64_t rows,
                             uint64_t rank);
