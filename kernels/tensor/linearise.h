/* Builds BLCO tensors on the device: lines, sorting, blocks. Device pointers only; nothing of
 * src/ is known here. All launchers are asynchronous and return the launch's error; n may be 0.
 * Coordinates come from arrays, as lines do not hold them. Arrays of positions have 4 or 8 bytes an
 * entry (position_size); with position_size 0, position is ignored, and position i is i. */
#pragma once

#include "kernels/tensor/tuples.h"
#include "numerics/bit_move.h"

LAUNCHERS_BEGIN

/* out[i] (n) = the word that `moves` builds from in[i] (n); in and out may be the same. */
cudaError_t linearise_words(const uint64_t *in, uint64_t *result, uint64_t n,
                            const struct bit_moves *moves, cudaStream_t stream);

/* out[i] (n) = the word that `moves` builds from the coordinates of nonzero position[i] (n). */
cudaError_t linearise_gather_words(const struct tuples_nonzeros *x, const void *position,
                                   int position_size, uint64_t *result, uint64_t n,
                                   const struct bit_moves *moves, cudaStream_t stream);

/* position[i] (n) = i. */
cudaError_t linearise_positions(void *position, int position_size, uint64_t n, cudaStream_t stream);

/* out[i] (n) = in[position[i]]. 4 or 8 bytes in and out; from 8 to 4: a double rounded to float. */
cudaError_t linearise_gather(const void *in, int in_size, const void *position, int position_size,
                             void *result, int out_size, uint64_t n, cudaStream_t stream);

/* flag[i] (n) = 1 where nonzero i of the sorted lines (n) differs from its predecessor in the bits
 * from `cut` (0 to 63) on, and for i = 0; *count (device) = the sum of the flags. */
cudaError_t linearise_flag_lines(const uint64_t *line, int cut, uint8_t *flag, uint64_t *count,
                                 uint64_t n, cudaStream_t stream);

/* As linearise_flag_lines, for nonzeros position[i] and the bits above[n] (MAX_ORDER) of their
 * coordinates.
 */
cudaError_t linearise_flag_coordinates(const struct tuples_nonzeros *x, const uint32_t *above,
                                       const void *position, int position_size, uint8_t *flag,
                                       uint64_t *count, uint64_t n, cudaStream_t stream);

LAUNCHERS_END
