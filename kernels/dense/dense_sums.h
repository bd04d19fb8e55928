/* Sums over rows in ALS: the inner products of two factor matrices, and the second stage of every
 * such sum, in which the thread blocks' partial results are added in a fixed order; and factor
 * matrices of floats as doubles. Device pointers only; nothing of src/ is known here. Asynchronous;
 * the launch's error is returned. */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* For rows of n times 16 columns: the Gram's tiles of 16 x 8 entries in its upper half; and the
 * doubles of a partial result of dense_apply: these tiles, each [4][lane] as a warp's matrix
 * instruction leaves it, then one inner product a column. */
#define DENSE_TILES(n)         ((n) * ((n) + 1))
#define DENSE_TILES_PARTIAL(n) (DENSE_TILES(n) * 128 + (n)*16)

/* Partial results of several sums side by side: those from first[k] to first[k + 1] are of sum k.
 */
struct dense_parts {
    int sums;
    uint32_t first[MAX_ORDER + 1];
};

/* raw (sums x R x R, full) and, of one sum, inner (R, may be NULL) = the sums of partial results of
 * dense_apply for rows of `column_blocks` times 16 columns. Does nothing where *halt is not 0; halt
 * may be NULL. */
cudaError_t dense_sum_tiles(const struct dense_parts *parts, const double *partial,
                            uint32_t column_blocks, uint32_t rank, double *raw, double *inner,
                            const int *halt, cudaStream_t stream);

/* raw (R x R, full) = the sum of `count` Grams (count x R x R), of which only the upper triangles
 * are read. */
cudaError_t dense_sum_grams(const double *grams, uint32_t count, uint32_t rank, double *raw,
                            cudaStream_t stream);

/* inner (R) = the diagonal of M' A for any ld, by at most `blocks` thread blocks. partial (blocks x
 * R). */
cudaError_t dense_inner(const void *m, const void *a, uint64_t rows, uint64_t ld, uint32_t rank,
                        enum precision precision, double *partial, uint32_t blocks, double *inner,
                        cudaStream_t stream);

/* to (n) = from (n), and rounds `from` too, so that both stay equal. */
cudaError_t dense_narrow(double *from, float *to, uint64_t n, cudaStream_t stream);

/* to (rows x to_ld) = the columns 0 to rank - 1 of from (rows x from_ld), then zeros. The arrays do
 * not overlap. */
cudaError_t dense_widen_rows(const float *from, uint64_t from_ld, double *to, uint64_t to_ld,
                             uint64_t rows, uint64_t rank, cudaStream_t stream);

LAUNCHERS_END
