/* Sorting nonzeros by output row, so that those of a row come to MTTKRP together. Device pointers
 * only. */
#ifndef BLCO_ROW_SORT_H
#define BLCO_ROW_SORT_H

#include "kernels/mttkrp/mttkrp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Upper bits of a row that are sorted by, in two passes over the nonzeros. What they leave together
 * are a few hundred rows at the most in 2^24, which MTTKRP_SORTED tells apart within its chunks. */
#define ROW_SORT_BITS 16

struct row_sort {
    uint32_t *row[2];      /* (nnz) each */
    uint32_t *position[2]; /* (nnz) each */
    void *temporary;       /* (temporary_bytes) */
    size_t temporary_bytes;
};

/* Bytes of temporary that sorting up to nnz nonzeros takes. */
cudaError_t row_sort_temporary(uint32_t nnz, size_t *bytes);

/* args->position, an array of *s, becomes the order of the first nnz nonzeros by the upper
 * ROW_SORT_BITS bits that rows of args->output have; stable. args: index, of whole rows without
 * bases, and output. Asynchronous; returns the launch's error. */
cudaError_t row_sort_launch(const struct row_sort *s, struct mttkrp_args *args, uint32_t nnz,
                            cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
