/* Sorts pairs of keys and values on the device, as nonzeros are sorted along a line; scans and
 * selections that the same work needs. */
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/runtime/device_memory.h"
#include "kernels/arrays/arrays.h"
#include "kernels/tensor/line_pieces.h"

/* Here keys have 8 bytes. The pairs are in [0]; [1] is the room that sorting takes. */

/* Room for n pairs, uninitialised. The caller gives *p back, also after a failure. STATUS_MEMORY.
 */
enum status device_pairs_take(struct array_pairs *p, uint64_t n, int value_size,
                              const struct device_pool *pool, struct error *error);

/* Takes key[i] and value[i] where they are NULL. STATUS_MEMORY. */
enum status device_pairs_complete(struct array_pairs *p, int i, const struct device_pool *pool,
                                  struct error *error);

/* Hands the arrays that are not NULL back; device_pairs_give_keys all but value[0]. */
void device_pairs_give(struct array_pairs *p, const struct device_pool *pool);
void device_pairs_give_keys(struct array_pairs *p, const struct device_pool *pool);

/* Sorts by bits [begin, end) of the keys; stable. STATUS_MEMORY leaves the pairs as they were. */
enum status device_pairs_sort(struct array_pairs *p, int begin, int end,
                              const struct device_pool *pool, struct error *error);

/* Sorts nonzeros by their lines in pieces, where the device has no room to sort all at once: key[0]
 * and value[0] of p (nnz pairs) become the moved lines and the values of x, sorted by bits
 * [begin, end) of the lines; nonzeros with equal bits keep the order of x. Bits from `end` on are
 * zero in all lines. Device memory while it runs: about an eighth of the pairs, or as much as the
 * nonzeros of the fullest of LINE_PIECES_BINS bins take. STATUS_MEMORY leaves the pairs undefined.
 */
enum status device_pairs_sort_pieces(struct array_pairs *p, const struct line_pieces_nonzeros *x,
                                     int begin, int end, const struct device_pool *pool,
                                     struct error *error);

/* count[i] (n + 1; device) = the sum of the counts before it; *sum = that of the first n. Waits for
 * the stream. STATUS_MEMORY. */
enum status device_pairs_scan(uint64_t *count, uint64_t n, uint64_t *sum,
                              const struct device_pool *pool, struct error *error);

/* place (device; room for all) = the numbers i, ascending, of the flags (n; device) that are not 0,
 * of place_size 4 or 8 bytes; *count = how many. Waits for the stream. STATUS_MEMORY. */
enum status device_pairs_select(const uint8_t *flag, uint64_t n, void *place, int place_size,
                                uint64_t *count, const struct device_pool *pool,
                                struct error *error);

/* Bytes of a nonzero's position among nnz: 4 or 8. */
int device_pairs_position_size(uint64_t nnz);
