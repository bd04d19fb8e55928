/* Sorts nonzeros by output row, so that MTTKRP takes the nonzeros of a row together. Device
 * pointers only. */
#pragma once

#include "kernels/mttkrp/mttkrp_args.h"
#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Upper bits of a row's number that are sorted by, in two passes over the nonzeros. Rows that agree
 * in these bits, a few hundred at most if there are 2^24 rows, are separated by MTTKRP_SORTED
 * within its chunks. */
#define ROW_SORT_BITS 16

/* The arrays that sorting takes; all are borrowed. */
struct row_sort {
    uint32_t *row[2];      /* (nnz) each: a pair of buffers of keys      */
    uint32_t *position[2]; /* (nnz) each: a pair of buffers of positions */
    void *temporary;       /* (temporary_bytes)                          */
    size_t temporary_bytes;
};

/* *bytes = the temporary memory that sorting up to nnz nonzeros takes. */
cudaError_t row_sort_temporary(uint32_t nnz, size_t *bytes);

/* args->position = one of s->position: the order of the first nnz nonzeros by the upper
 * ROW_SORT_BITS bits of their rows; stable. Reads index and output of args; there must be no
 * bases. Asynchronous; returns the launch's error. */
cudaError_t row_sort_launch(const struct row_sort *s, struct mttkrp_args *args, uint32_t nnz,
                            cudaStream_t stream);

LAUNCHERS_END
