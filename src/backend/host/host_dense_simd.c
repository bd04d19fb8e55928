#include "backend/host/host_dense_simd.h"

#include "backend/host/simd_width.h"

static const struct host_dense_tiles *tiles_of(uint64_t lanes)
{
#if SIMD_X86
    if (lanes == 8)
        return &dense_lanes8;
    if (lanes == 4)
        return &dense_lanes4;
#endif
    return lanes == 2 ? &dense_lanes2 : &dense_lanes1;
}

void host_dense_multiply(const struct host_dense_product *p, bool upper)
{
    for (uint64_t column = 0, width; column < p->rank; column += width) {
        width = simd_tile_width(p->rank - column);
        uint64_t lanes = simd_width(width), vectors = (width + lanes - 1) / lanes;
        struct host_dense_product part = *p;
        if (upper && part.rows > column + width)
            part.rows = column + width;
        tiles_of(lanes)->tile[width % lanes != 0][vectors - 1](&part, column, width);
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
