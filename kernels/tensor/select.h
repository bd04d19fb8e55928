/* The part of selecting nonzeros (select.cuh) that callers use. */
#pragma once

#include <stdint.h>

#define SELECT_TILE 1024 /* nonzeros that are counted together */

/* The tiles of so many nonzeros. */
static inline uint64_t select_tiles(uint64_t nnz)
{
    return (nnz + SELECT_TILE - 1) / SELECT_TILE;
}
