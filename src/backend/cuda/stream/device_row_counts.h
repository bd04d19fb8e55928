/* How many nonzeros each row of a streamed tensor's modes has, counted on the device while all of
 * them pass by once. */
#ifndef BLCO_DEVICE_ROW_COUNTS_H
#define BLCO_DEVICE_ROW_COUNTS_H

#include <stdbool.h>

#include "backend/cuda/stream/device_stream.h"

struct device_row_counts {
    uint32_t *count[MAX_ORDER]; /* (I_n) each, wrapped at 2^32; NULL: not counted; owned */
};

/* Counts the rows of those modes that are `wanted`, from the stream's ordering `source`; replaces
 * counts that are there. It takes four bytes a row, on the device too while it runs. Waits until
 * all is done; after a failure none of these modes has counts. STATUS_MEMORY. */
enum status device_row_counts_create(struct device_row_counts *c, const bool *wanted,
                                     struct device_stream *s, int source, cudaStream_t stream,
                                     struct error *error);

/* Bytes that counts of the rows of the wanted modes take. */
uint64_t device_row_counts_bytes(const struct device_stream *s, const bool *wanted);

/* Accepts an empty one. */
void device_row_counts_free(struct device_row_counts *c);

#endif
