/* Parallel stable radix sort of 64-bit keys that each carry 64 bits along. */
#ifndef BLCO_RADIX_SORT_H
#define BLCO_RADIX_SORT_H

#include <stdint.h>

#include "base/error.h"
#include "kernels/shared/bit_move.h"

/* Sorts key[0..n) ascending by its lowest `bits` bits (0 to 64; higher bits must be zero) and moves
 * payload[0..n) with it; stable; by all OpenMP threads. Takes n * 16 bytes of memory while it runs.
 * STATUS_MEMORY leaves both arrays as they were. */
enum status radix_sort(uint64_t *key, uint64_t *payload, uint64_t n, int bits, struct error *error);

/* The same from other arrays, which stay as they are: the keys that `moves` make of from_key[0..n)
 * (every source is 0), which have at most `bits` bits. Pairs whose keys agree in the bits from
 * `low` on stay in the order in which they stand. Takes the memory of a bucket that is too large
 * for a core's cache, where there is one. STATUS_MEMORY leaves key and payload undefined. */
enum status radix_sort_moved(const struct bit_moves *moves, const uint64_t *from_key,
                             const uint64_t *from_payload, uint64_t *key, uint64_t *payload,
                             uint64_t n, int low, int bits, struct error *error);

#endif
