/* Sorts nonzeros by output row, so that MTTKRP takes the nonzeros of a row together. Device
 * pointers only. */
#pragma once

#include "kernels/arrays/arrays.h"
#include "kernels/mttkrp/mttkrp_args.h"

LAUNCHERS_BEGIN

/* Upper bits of a row's number that are sorted by, in two passes over the nonzeros. Rows that agree
 * in these bits, a few hundred at most if there are 2^24 rows, are separated by MTTKRP_SORTED
 * within its chunks. */
#define ROW_SORT_BITS 16

/* The arrays that sorting takes; all are borrowed. */
struct row_sort {
    struct array_pairs pairs; /* room for rows and positions, of 32 bits each */
    void *temporary;          /* (temporary_bytes): of arrays_sort             */
    size_t temporary_bytes;
};

/* args->position = one of the pairs' values: the order of the first nnz nonzeros by the upper
 * ROW_SORT_BITS bits of their rows; stable. Reads index and output of args; there must be no
 * bases. Asynchronous; returns the launch's error. */
cudaError_t row_sort_launch(const struct row_sort *s, struct mttkrp_args *args, uint32_t nnz,
                            cudaStream_t stream);

LAUNCHERS_END
