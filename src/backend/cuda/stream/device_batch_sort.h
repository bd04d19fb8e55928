/* Sorts a batch by output row for MTTKRP. Along the alto line the nonzeros of a row are too far
 * apart to be in one chunk, but many are in one batch: in a sorted batch, a row takes about one
 * atomic addition, instead of one for nearly each nonzero. */
#ifndef BLCO_DEVICE_BATCH_SORT_H
#define BLCO_DEVICE_BATCH_SORT_H

#include "base/error.h"
#include "kernels/mttkrp/row_sort.h"

/* What sorting takes beside the batch. */
struct device_batch_sort {
    struct row_sort arrays; /* device, owned */
};

/* For batches of at most nnz nonzeros. Adds the bytes of device memory that it takes, at most
 * PLAN_SORT_BYTES (plan.h) a nonzero and a few kilobytes, to *used. The caller closes *b, also
 * after a failure. STATUS_MEMORY. */
enum status device_batch_sort_open(struct device_batch_sort *b, uint64_t nnz, uint64_t *used,
                                   struct error *error);

/* Accepts a zeroed one. */
void device_batch_sort_close(struct device_batch_sort *b);

/* args->position = the order of a batch of nnz nonzeros by the rows of args->output (row_sort.h),
 * until the next call. Asynchronous. */
cudaError_t device_batch_sort_run(const struct device_batch_sort *b, struct mttkrp_args *args,
                                  uint64_t nnz, cudaStream_t stream);

#endif
