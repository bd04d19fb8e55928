/* How many fibers the nonzeros on the device have, for plan/tile_choice.h, and tiles of the L2
 * cache (plan/tile_choice.h), which are chosen by such counts. */
#pragma once

#include "backend/cuda/tensor/device_coo.h"
#include "plan/tile_choice.h"

/* fibers[n] (order) = the number of fibers along mode n of x, estimated from a sample. The same
 * nonzeros give the same numbers. Waits for the stream. STATUS_MEMORY. */
enum status device_fibers_count(double *fibers, const struct device_coo *x, struct error *error);

/* tile[n] (order) = the tiles of the L2 cache that pay for mode n of x, whose shape and nonzeros
 * those of r are; tile[n] stays where it has other tiles and where ordered[n] is false. lowest: of
 * fiber_lowest. Waits for the stream where anything is counted. STATUS_MEMORY leaves `tile`. */
enum status device_cache_tiles_choose(struct tile *tile, const struct cache_tile_request *r,
                                      const bool *ordered, const int *lowest,
                                      const struct device_coo *x, struct error *error);
