/* Whether MTTKRP of a mode works in tiles of shared memory (kernels/mttkrp/tiles.h) or of the L2
 * cache, and on which. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "tensor/ordering.h"

/* --- Tiles of shared memory. --- */

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

/* --- Tiles of the L2 cache. Where a factor matrix is far larger
 * than the cache, the ordering `mode n` may have that mode's upper bits on top: then only a tile of
 * the factor matrix is in use at a time, and the cache holds it. In return each row of M is summed
 * once for each tile, by atomic additions, and fibers along the tiled mode are cut at the tiles.
 * Which weighs more depends on the nonzeros, of which a backend counts what follows. --- */

/* What tiles are chosen for: nonzeros of this shape, factor matrices whose rows have so many bytes,
 * and a cache. */
struct cache_tile_request {
    const struct shape *shape;
    uint64_t nnz, row_bytes, cache_bytes; /* cache_bytes 0: there is none */
    int forced; /* the mode to tile for all others, counted from 1; -1: none; 0: where it pays */
};

/* *r for nnz nonzeros of this shape, which are the plan's tensor or made from it. There is no cache
 * where the user chose the conflict resolution. */
void cache_tile_request(struct cache_tile_request *r, const struct plan *plan,
                        const struct shape *shape, uint64_t nnz);

/* What a backend has counted, about. [g]: only of modes that may be tiled, else 0. */
struct cache_tile_counts {
    double fibers[MAX_ORDER];          /* [n]: along mode n                                    */
    double pieces[MAX_ORDER];          /* [g]: of the fibers along mode g, cut at tiles of g   */
    double misses[MAX_ORDER];          /* [g]: cache_tile_misses                               */
    double sums[MAX_ORDER][MAX_ORDER]; /* [g][n]: rows of M of mode n, for each tile of mode g */
};

/* log2 of the rows of a tile, which takes at most half of the cache. */
int cache_tile_bits(const struct cache_tile_request *r);

/* Whether mode g may be tiled: its factor matrix is far larger than the cache, and an index in its
 * tiles has one word. If tiles are forced, only the forced mode. */
bool cache_tile_may(const struct cache_tile_request *r, int g);

/* Whether some mode other than n may be tiled. */
bool cache_tile_open(const struct cache_tile_request *r, int n);

/* Estimates cache misses by drawing nonzeros at random: fresh[k], k < draws, counts the rows of a
 * mode that are new among draws [2^k / 2, 2^k). Returns the fraction of gathers in random order
 * that miss the cache, if half of it keeps the rows of as many draws as fill it (Che, Tung, Wang;
 * IEEE Journal on Selected Areas in Communications 20, 2002); 0 where they do not fill it. */
double cache_tile_misses(const struct cache_tile_request *r, const uint32_t *fresh, int draws);

/* *tile = the tiles that pay most in the ordering `mode`, of whose other modes `lowest` is lowest
 * (-1: the longest); of no modes where none pay. */
void cache_tile_choose(struct tile *tile, const struct cache_tile_request *r,
                       const struct cache_tile_counts *counts, int mode, int lowest);

/* Which mode's bits are lowest in an ordering `mode n`. Neighbours on the line then form a fiber
 * along that mode: they agree in all other coordinates, so that a near cache has the rows of the
 * other modes. The mode with the longest fibers is best. */

/* `skipped` of numerics/fiber_sample.h for so many nonzeros: at most a quarter of the map's bits
 * will be marked. */
int fiber_skipped_bits(uint64_t nnz);

/* The number of fibers, about, from the number of marked bits. */
double fiber_estimate(uint64_t marked, int skipped);

/* Whether some ordering `mode n` with ordered[n] leaves a choice of the lowest mode: more than one
 * mode besides mode n and those of its tiles. tile (order): of each ordering. */
bool fiber_choice_open(int order, const bool *ordered, const struct tile *tile);

/* The mode that is to be lowest in the ordering `mode` (`lowest` of ordering_create_lowest and
 * ordering_create_tiled); -1 for the longest. tile: the ordering's. fibers (order): of each
 * mode, the number of fibers along it. */
int fiber_lowest(int mode, const struct tile *tile, const struct shape *shape,
                 const double *fibers);
