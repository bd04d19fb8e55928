/* Where an ordering `mode n` in device memory is cut into pieces of whole rows. */
#ifndef BLCO_DEVICE_ROW_CUTS_H
#define BLCO_DEVICE_ROW_CUTS_H

#include "backend/cuda/tensor/device_tensor.h"

/* The first row of each piece but the first one, ascending; a piece may have no nonzeros. */
struct device_row_cuts {
    uint64_t *row; /* (count); owned */
    uint32_t count;
};

/* first (cuts + 2) = the first nonzero of each piece, in the ordering of `mode`, and the number of
 * nonzeros. Waits for the stream. STATUS_MEMORY. */
enum status device_row_cuts_find(const struct device_row_cuts *cuts,
                                 const struct device_tensor *tensor, int mode, uint64_t *first,
                                 cudaStream_t stream, struct error *error);

/* Accepts an empty one. */
void device_row_cuts_free(struct device_row_cuts *cuts);

#endif
