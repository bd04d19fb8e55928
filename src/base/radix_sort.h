/* Parallel stable radix sort of 64-bit keys that each carry 64 bits along. */
#ifndef BLCO_RADIX_SORT_H
#define BLCO_RADIX_SORT_H

#include <stdint.h>

#include "base/error.h"
#include "numerics/bit_move.h"

/* Sorts key[0..n), in place and ascending, by the lowest `bits` bits (0 to 64; higher bits must be
 * zero) and moves payload[0..n) with the keys; stable; by all OpenMP threads. Takes n * 16 bytes of
 * memory while it runs. STATUS_MEMORY leaves both arrays as they were. */
enum status radix_sort(uint64_t *key, uint64_t *payload, uint64_t n, int bits, struct error *error);

/* Sorts pairs from other arrays, which stay as they are: key[0..n) receives the keys that `moves`
 * (the source of every move is 0) make of from_key[0..n), of at most `bits` bits, in ascending
 * order of the bits from `low` on. Stable; by all OpenMP threads. While it runs it takes 330 KiB a
 * thread, and 16 bytes for each pair of the largest bucket that does not fit a core's cache.
 * STATUS_MEMORY leaves key and payload undefined. */
enum status radix_sort_moved(const struct bit_moves *moves, const uint64_t *from_key,
                             const uint64_t *from_payload, uint64_t *key, uint64_t *payload,
                             uint64_t n, int low, int bits, struct error *error);

#endif
