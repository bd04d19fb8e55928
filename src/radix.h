/* Parallel stable radix sort of 64-bit keys that each carry 64 bits along. */
#ifndef BLCO_RADIX_H
#define BLCO_RADIX_H

#include <stdint.h>

#include "error.h"

/* Sorts key[0..n) ascending by its lowest `bits` bits (0 to 64; higher bits must be zero) and moves
 * payload[0..n) with it; stable; by all OpenMP threads. Takes n * 16 bytes of memory while it runs.
 * STATUS_MEMORY leaves both arrays as they were. */
enum status radix_sort(uint64_t *key, uint64_t *payload, uint64_t n, int bits, struct error *error);

#endif
