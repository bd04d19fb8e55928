#include "backend/host/host_dense_simd.h"

#include "backend/host/simd_vector.h"

/* Vectors of sums kept in registers at a time: enough to hide an addition's latency, few enough to
 * leave room for the operands. */
#define SUMS (SIMD_WIDTH == 8 ? 16 : 8)

/* Rows [row, row + rows) of a tile. `rows` and `vectors` are constants, so that the sums live in
 * registers. All of C's tile is read before any of it is written: columns that two vectors share
 * come out alike. */
INLINE void rows_of_tile(const struct host_dense_product *p, uint64_t row, uint64_t column,
                         uint64_t last, int rows, int vectors)
{
    double *c = p->c + row * p->rank + column;
    const double *x = p->x + row * p->x_row, *y = p->y + column;
    const uint64_t x_row = p->x_row, x_term = p->x_term, rank = p->rank;
    vec sum[SUMS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i * vectors + v] =
                p->add ? load(c + (uint64_t)i * rank + column_of(last, v, vectors)) : (vec){0};
    for (uint64_t k = 0; k < p->terms; k++) {
        vec right[4];
        for (int v = 0; v < vectors; v++)
            right[v] = load(y + k * rank + column_of(last, v, vectors));
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++)
                sum[i * vectors + v] += x[(uint64_t)i * x_row + k * x_term] * right[v];
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            store(c + (uint64_t)i * rank + column_of(last, v, vectors), sum[i * vectors + v]);
}

INLINE void tile_body(const struct host_dense_product *p, uint64_t column, uint64_t width,
                      int vectors, bool exact)
{
    const int rows = SUMS / vectors;
    uint64_t last = (exact ? (uint64_t)vectors * SIMD_WIDTH : width) - SIMD_WIDTH, row = 0;
    for (; row + (uint64_t)rows <= p->rows; row += (uint64_t)rows)
        rows_of_tile(p, row, column, last, rows, vectors);
    for (; row < p->rows; row++)
        rows_of_tile(p, row, column, last, 1, vectors);
}

#define TILE(name, vectors)                                                                        \
    static void name(const struct host_dense_product *p, uint64_t column, uint64_t width)          \
    {                                                                                              \
        if (width == SIMD_WIDTH * (vectors))                                                       \
            tile_body(p, column, width, vectors, true);                                            \
        else                                                                                       \
            tile_body(p, column, width, vectors, false);                                           \
    }
TILE(tile_1, 1)
TILE(tile_2, 2)
TILE(tile_3, 3)
TILE(tile_4, 4)

const struct host_dense_tiles SIMD_NAME(host_dense) = {{tile_1, tile_2, tile_3, tile_4}};
