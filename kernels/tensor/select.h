/* The part of selecting nonzeros (select.cuh) that callers use. */
#pragma once

#include <stdint.h>

#include "numerics/max_order.h"

#define SELECT_TILE 1024 /* nonzeros that are counted together */

/* The tiles of so many nonzeros. */
static inline uint64_t select_tiles(uint64_t nnz)
{
    return (nnz + SELECT_TILE - 1) / SELECT_TILE;
}

/* Where selected nonzeros go: lines, or coordinates, and values. A launcher of a selection is
 * called twice. Without a target, tile[t] (tiles) becomes the number of nonzeros that are selected
 * of tile t; with one, those of tile t are written in their order, from place tile[t] on. */
struct select_target {
    uint64_t *line;             /* NULL: `index`      */
    uint32_t *index[MAX_ORDER]; /* one for each mode  */
    void *value;
};
