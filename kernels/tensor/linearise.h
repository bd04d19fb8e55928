/* Builds BLCO tensors on the device: lines, sorting, blocks. Device pointers only; nothing of
 * src/ is known here. All launchers are asynchronous and return the launch's error; n may be 0.
 * Arrays of positions have 4 or 8 bytes an entry (position_size); with position_size 0, position is
 * ignored, and position i is i. */
#ifndef BLCO_LINEARISE_H
#define BLCO_LINEARISE_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "numerics/bit_move.h"
#include "numerics/max_order.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Coordinates of nonzeros. */
struct linearise_coordinates {
    int order;
    const uint32_t *index[MAX_ORDER]; /* (nonzeros) each */
};

/* out[i] (n) = the word that `moves` builds from in[i] (n); in and out may be the same. */
cudaError_t linearise_words(const uint64_t *in, uint64_t *out, uint64_t n,
                            const struct bit_moves *moves, cudaStream_t stream);

/* out[i] (n) = the word that `moves` builds from the coordinates of nonzero position[i] (n). */
cudaError_t linearise_gather_words(const struct linearise_coordinates *x, const void *position,
                                   int position_size, uint64_t *out, uint64_t n,
                                   const struct bit_moves *moves, cudaStream_t stream);

/* position[i] (n) = i. */
cudaError_t linearise_positions(void *position, int position_size, uint64_t n, cudaStream_t stream);

/* out[i] (n) = in[position[i]]. 4 or 8 bytes in and out; from 8 to 4: a double rounded to float. */
cudaError_t linearise_gather(const void *in, int in_size, const void *position, int position_size,
                             void *out, int out_size, uint64_t n, cudaStream_t stream);

/* Stable sort of n pairs by bits [begin, end) of their keys; payload_size is 4 or 8. The pairs
 * start and end in key[0] and payload[0]: if sorting leaves them in key[1] and payload[1], the
 * pointers are swapped. With temporary NULL only *temporary_bytes is set. */
cudaError_t linearise_sort(void *temporary, size_t *temporary_bytes, uint64_t *key[2],
                           void *payload[2], int payload_size, uint64_t n, int begin, int end,
                           cudaStream_t stream);

/* flag[i] (n) = 1 where nonzero i of the sorted lines (n) differs from its predecessor in the bits
 * from `cut` (0 to 63) on, and for i = 0; *count (device) = the sum of the flags. */
cudaError_t linearise_flag_lines(const uint64_t *line, int cut, uint8_t *flag, uint64_t *count,
                                 uint64_t n, cudaStream_t stream);

/* As linearise_flag_lines, for nonzeros position[i] and the bits above[mode] of their coordinates.
 */
cudaError_t linearise_flag_coordinates(const struct linearise_coordinates *x, const uint32_t *above,
                                       const void *position, int position_size, uint8_t *flag,
                                       uint64_t *count, uint64_t n, cudaStream_t stream);

/* first[] (*count, which the caller knows) = the i with flag[i] = 1, ascending. With temporary
 * NULL only *temporary_bytes is set. */
cudaError_t linearise_select(void *temporary, size_t *temporary_bytes, const uint8_t *flag,
                             uint64_t *first, uint64_t *count, uint64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
