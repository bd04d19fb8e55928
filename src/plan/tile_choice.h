/* Whether MTTKRP of a mode works in tiles of shared memory (kernels/mttkrp/tiles.h), and on which.
 * Tiles of the L2 cache: cache_tile_choice.h. */
#ifndef BLCO_TILE_CHOICE_H
#define BLCO_TILE_CHOICE_H

#include <stdbool.h>

#include "plan/plan.h"
#include "tensor/ordering.h"

/* What tiles are chosen for: nonzeros of this shape, and factor matrices whose rows have so many
 * bytes. */
struct tile_request {
    const struct shape *shape;
    uint64_t nnz, row_bytes;
    uint64_t room; /* bytes that partial sums may take                  */
    int forced;    /* tiles of four rows, of so many next modes, even if they do not pay */
};

/* *tile = the tiles that pay most for MTTKRP of `mode`; of no modes where none pay or have room.
 * Returns the bytes of their partial sums, about. */
uint64_t tile_choose(struct tile *tile, const struct tile_request *r, int mode);

/* tile[n] = the tiles of mode n, for each mode of nnz nonzeros of this shape, which are the plan's
 * tensor or made from it. There are none where the user chose the conflict resolution, nor where
 * ordered[n] is false: mode n has no ordering of its own.
 * Returns the bytes of all partial sums, about. */
uint64_t tile_choose_all(struct tile *tile, const struct plan *plan, const struct shape *shape,
                         uint64_t nnz, const bool *ordered);

/* Rows of a tile of a tiled mode of this length. */
uint64_t tile_length(const struct tile *tile, uint64_t length);

#endif
