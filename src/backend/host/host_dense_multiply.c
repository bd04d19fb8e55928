#include "backend/host/host_dense_simd.h"

#include "backend/host/simd_width.h"

/* By the logarithm of the SIMD width. */
static const struct host_dense_tiles *const tiles[] = {
    &host_dense_double1,
    &host_dense_double2,
#if SIMD_X86
    &host_dense_double4,
    &host_dense_double8,
#endif
};

void host_dense_multiply(const struct host_dense_product *p, bool upper)
{
    for (uint64_t column = 0, width; column < p->rank; column += width) {
        width = simd_tile_width(p->rank - column, PRECISION_DOUBLE);
        uint64_t simd = simd_width(width, PRECISION_DOUBLE), vectors = (width + simd - 1) / simd;
        struct host_dense_product part = *p;
        if (upper && part.rows > column + width)
            part.rows = column + width;
        tiles[__builtin_ctzll(simd)]->tile[width % simd != 0][vectors - 1](&part, column, width);
    }
}

void host_dense_times_square(const double *x, const double *t, double *c, uint64_t rows,
                             uint64_t rank)
{
    const struct host_dense_product p = {.c = c,
                                         .x = x,
                                         .y = t,
                                         .x_row = rank,
                                         .x_term = 1,
                                         .rows = rows,
                                         .terms = rank,
                                         .rank = rank};
    host_dense_multiply(&p, false);
}
