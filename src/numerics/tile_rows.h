/* How rows of factor matrices fill a tile in the shared memory of a multiprocessor. */
#pragma once

#include <stdint.h>

#include "numerics/vector_bytes.h"

#define MAX_TILED  2           /* modes that may have a tile at a time */
#define TILE_BYTES (128 << 10) /* of shared memory, for the rows of a tile */

/* 16-byte vectors of a row that are in shared memory at a time: a panel of it. */
static inline uint32_t tile_panel(uint64_t vectors)
{
    return vectors <= 4 ? 4 : vectors <= 8 ? 8 : 16;
}

/* Rows of a tile, a power of two, where a row has so many vectors. */
static inline uint32_t tile_rows(uint64_t vectors)
{
    return TILE_BYTES / (tile_panel(vectors) * VECTOR_BYTES);
}
