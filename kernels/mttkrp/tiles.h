/* MTTKRP with rows of one or two other modes, the tiled modes, in shared memory. The ordering has
 * the upper bits of the tiled modes on top, then the output mode, then the other modes, and the
 * tiled modes' low bits at the bottom (ordering_create_tiled): each block of the tensor is a tile,
 * or a pair of tiles, whose rows of the tiled factor matrices are loaded once, while all other rows
 * are gathered from global memory. A row of M then has a sum for each block; these partial sums are
 * stored, and a second pass (tile_sums.h) adds them in a fixed order, so that M always has the
 * same bits. Device pointers only. */
#pragma once

#include "kernels/mttkrp/mttkrp_args.h"
#include "numerics/launchers.h"
#include "numerics/tile_rows.h"

LAUNCHERS_BEGIN

/* Lane groups of a thread block: each works on a run of a chunk. */
uint32_t tiles_lane_groups(uint32_t vectors);

/* Thread blocks for each multiprocessor-wide pass over the tensor: rows wider than a panel take
 * several. */
uint32_t tiles_panels(uint32_t vectors);

struct tiles_args {
    struct mttkrp_args mttkrp; /* plain, of one index word; the last gathers are the tiled modes';
                                * `base` has the first row of each tile; m has one copy. chunk: of
                                * one block each, in the order of the line */
    int tiled_modes;           /* 1 to MAX_TILED                                              */
    uint64_t tiled_rows[MAX_TILED]; /* of their factor matrices                               */
    const uint32_t
        *range; /* (ranges + 1): thread block s works on chunks range[s] to range[s + 1] */
    uint32_t ranges;
    const uint32_t *first_partial; /* (chunks x lane groups): of each run, its first partial sum */
    uint64_t partials;             /* of a pass over the tensor, all runs together               */
    void *partial;                 /* (partials x vectors * 16 bytes)                            */
    uint64_t rows;                 /* of M */
    const uint32_t *row_begin;     /* (rows + 1): where each row begins in row_partial           */
    const uint32_t *row_partial;   /* (partials) their numbers, those of a row together, in the
                                    * order of the line */
};

/* args->partial = the partial sums of X_(n) times the Khatri-Rao product. Asynchronous. */
cudaError_t tiles_launch(const struct tiles_args *args, cudaStream_t stream);

LAUNCHERS_END
