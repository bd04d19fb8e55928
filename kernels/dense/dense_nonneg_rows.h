/* The kernels of dense_nonneg. Implemented in dense_nonneg_tiles.cu (rows of up to 64 entries, by
 * matrix instructions) and dense_nonneg_wide.cu (longer ones, by sums over lanes). */
#pragma once

#include <cuda_runtime.h>

#include "kernels/dense/dense_nonneg_args.h"
#include "kernels/dense/dense_apply.h"
#include "numerics/precision.h"

/* Where `system` has W (width x width), and after it rows of `width`. */
enum { SCALE_OF_M, SCALE_OF_A, LEAST, DIAGONAL, ROWS_BEHIND };

/* The largest R of dense_nonneg_tiles. */
constexpr uint32_t NONNEG_TILE_RANK = DENSE_SOLVE_LD;

/* The largest width of rows for which dense_nonneg_tiles also leaves the sums. */
constexpr uint32_t NONNEG_SUMS_WIDTH = 48;

/* The width of the rows for which a kernel is compiled. */
inline uint32_t nonneg_width(uint32_t rank)
{
    if (rank <= NONNEG_TILE_RANK)
        return (rank + 15) / 16 * 16;
    uint32_t width = 2 * NONNEG_TILE_RANK;
    while (width < rank)
        width *= 2;
    return width;
}

cudaError_t dense_nonneg_tiles(const struct dense_nonneg_args *args, enum precision precision,
                               const struct dense_streams *streams);
cudaError_t dense_nonneg_wide(const struct dense_nonneg_args *args, enum precision precision,
                              cudaStream_t stream);
