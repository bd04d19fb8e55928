/* Whether MTTKRP of a mode works tile by tile (kernels/mttkrp/tiles.h), and on which tiles. */
#ifndef BLCO_TILE_CHOICE_H
#define BLCO_TILE_CHOICE_H

#include <stdbool.h>

#include "tensor/ordering.h"

/* What tiles are chosen for: nonzeros of this shape, and factor matrices whose rows have so many
 * bytes. */
struct tile_request {
    const struct shape *shape;
    uint64_t nnz, row_bytes;
    uint64_t room; /* bytes that partial sums may take                  */
    bool forced;   /* tiles of four rows, of the next mode, even if they do not pay */
};

/* *tile = the tiles that pay most for MTTKRP of `mode`; .mode is -1 where none pay or have room.
 * Returns the bytes of their partial sums, about. */
uint64_t tile_choose(struct tile *tile, const struct tile_request *r, int mode);

#endif
