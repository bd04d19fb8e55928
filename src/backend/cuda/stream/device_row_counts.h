/* How many nonzeros each row of a streamed tensor's modes has, counted on the device in one pass
 * over all batches. */
#ifndef BLCO_DEVICE_ROW_COUNTS_H
#define BLCO_DEVICE_ROW_COUNTS_H

#include <stdbool.h>

#include "backend/cuda/stream/device_stream.h"

struct device_row_counts {
    uint32_t *count[MAX_ORDER]; /* (I_n) each, modulo 2^32; NULL: not counted; owned */
};

/* Counts the nonzeros of each row of the modes that are `wanted` (order), from the stream's
 * ordering `original`; replaces older counts. Takes four bytes a row, on the device too while it
 * runs. Waits until all is done. After a failure none of these modes has counts. STATUS_MEMORY. */
enum status device_row_counts_create(struct device_row_counts *c, const bool *wanted,
                                     struct device_stream *s, int original, cudaStream_t stream,
                                     struct error *error);

/* Bytes that counts of the rows of the wanted modes take. */
uint64_t device_row_counts_bytes(const struct device_stream *s, const bool *wanted);

/* Accepts an empty one. */
void device_row_counts_free(struct device_row_counts *c);

#endif
