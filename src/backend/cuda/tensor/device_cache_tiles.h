/* Tiles of the L2 cache (plan/cache_tile_choice.h), chosen by what is counted on the device. */
#ifndef BLCO_DEVICE_CACHE_TILES_H
#define BLCO_DEVICE_CACHE_TILES_H

#include "backend/cuda/tensor/device_coo.h"
#include "plan/cache_tile_choice.h"

/* tile[n] (order) = the tiles of the L2 cache that pay for mode n of x, whose shape and nonzeros
 * those of r are; tile[n] stays where it has other tiles and where ordered[n] is false. lowest: of
 * fiber_lowest. Waits for the stream where anything is counted. STATUS_MEMORY leaves `tile`. */
enum status device_cache_tiles_choose(struct tile *tile, const struct cache_tile_request *r,
                                      const bool *ordered, const int *lowest,
                                      const struct device_coo *x, struct error *error);

#endif
