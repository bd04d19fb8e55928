/* Parallel stable radix sort of 64-bit keys that each carry 64 bits along. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "numerics/bit_move.h"

/* Sorts key[0..n), in place and ascending, and moves payload[0..n) with the keys; stable; by all
 * OpenMP threads. Takes n * 16 bytes of memory while it runs. STATUS_MEMORY leaves both arrays as
 * they were. */
enum status radix_sort(uint64_t *key, uint64_t *payload, uint64_t n, struct error *error);

/* Keys, each with the payload that it carries along. */
struct pairs {
    uint64_t *key, *payload;
};

/* The keys by which radix_sort_moved sorts: the bits from `low` on of what `moves` (the source of
 * every move is 0) make of a key, `bits` bits at most. */
struct sort_keys {
    const struct bit_moves *moves;
    int low, bits;
};

/* to[0..n) becomes from[0..n) with its keys moved, in ascending order of keys->low to keys->bits;
 * `from` stays as it is. Stable; by all OpenMP threads. While it runs it takes 330 KiB a thread,
 * and 16 bytes for each pair of the largest bucket that does not fit a core's cache. STATUS_MEMORY
 * leaves `to` undefined. */
enum status radix_sort_moved(const struct sort_keys *keys, struct pairs from, struct pairs to,
                             uint64_t n, struct error *error);
