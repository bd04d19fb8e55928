/* The partial sums of tiles: how many there are, whose they are, and the second pass, which adds
 * them. Device pointers only. */
#pragma once

#include "kernels/mttkrp/tiles.h"

LAUNCHERS_BEGIN

/* count[run] (chunks x lane groups) = how many partial sums each run has. Asynchronous. */
cudaError_t tile_sums_count(const struct tiles_args *args, uint32_t *count, cudaStream_t stream);

/* row, number (partial sums each) = the row of M that each partial sum belongs to, and its own
 * number; args->first_partial is there. Asynchronous. */
cudaError_t tile_sums_list_rows(const struct tiles_args *args, uint64_t *row, uint32_t *number,
                                cudaStream_t stream);

/* begin (rows + 1): begin[r] = the first of the sorted row[0..count), all below `rows`, that is r
 * or larger. Asynchronous. */
cudaError_t tile_sums_begin_rows(const uint64_t *row, uint64_t count, uint32_t *begin,
                                 uint64_t rows, cudaStream_t stream);

/* Each row of M = the sum of its partial sums, in an order that depends on their numbers alone.
 * Asynchronous. */
cudaError_t tile_sums_add(const struct tiles_args *args, cudaStream_t stream);

LAUNCHERS_END
