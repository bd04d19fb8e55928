/* The update of a nonnegative factor matrix (numerics/nonneg.h): one pass over its rows and
 * M's, which keeps rows in registers. Implemented in dense_nonneg.cu (what all rows need),
 * dense_nonneg_tiles.cu (rows of up to 64 entries, by matrix instructions) and dense_nonneg_wide.cu
 * (longer ones, by sums over lanes). Device pointers only; nothing of src/ is known here.
 * Asynchronous; the launch's error is returned. */
#pragma once

#include "kernels/dense/dense_apply.h"
#include "kernels/dense/dense_modes.h"

LAUNCHERS_BEGIN

/* The largest R. */
#define DENSE_NONNEG_RANK 1024

/* Doubles of `system` below. */
uint64_t dense_nonneg_system_size(uint32_t rank);

/* What all rows of an update need, into `system`: V with the ridge, divided by its diagonal, and
 * the scales of M and A. lambda (R): of the model before. rows: of the whole factor matrix. Does
 * nothing where *halt is not 0; halt may be NULL. */
cudaError_t dense_nonneg_prepare(const struct dense_modes *modes, double ridge,
                                 const double *lambda, uint64_t rows, enum precision precision,
                                 double *system, const int *halt, cudaStream_t stream);

/* The rows of A (rows x ld), in place, from those of M (rows x ld). Columns R to ld of M are
 * ignored, those of A become zero. The fields from `partial` to `inner` are those of
 * dense_apply_args; they are used where dense_nonneg_sums. */
struct dense_nonneg_args {
    const void *m;
    void *a;
    uint64_t rows;
    uint32_t ld, rank;
    int fit_rows;         /* begin by multiplying each row by the number that fits best */
    const double *system; /* of dense_nonneg_prepare                                    */
    uint32_t processors;  /* multiprocessors of the device                              */
    double *partial;
    uint32_t blocks;
    double *raw;
    double *inner;
    const int *halt; /* nothing is done where this is not 0; may be NULL           */
};

/* Whether dense_nonneg also leaves A' A and the inner products: up to a rank, registers have room
 * for them. */
int dense_nonneg_sums(uint32_t rank);

/* The rows of A, in place, from those of M. As after dense_apply, the next pass must wait for the
 * sums of this one. */
cudaError_t dense_nonneg(const struct dense_nonneg_args *args, enum precision precision,
                         const struct dense_streams *streams);

/* For the kernels: */

/* Where `system` has W (width x width), and after it rows of `width`. */
enum { SCALE_OF_M, SCALE_OF_A, LEAST, DIAGONAL, ROWS_BEHIND };

#define NONNEG_TILE_RANK  DENSE_SOLVE_LD /* the largest R of dense_nonneg_tiles */
#define NONNEG_SUMS_WIDTH 48 /* the largest width of rows for which it also leaves the sums */

/* The width of the rows for which a kernel is compiled. */
static inline uint32_t nonneg_width(uint32_t rank)
{
    if (rank <= NONNEG_TILE_RANK)
        return (rank + 15) / 16 * 16;
    uint32_t width = 2 * NONNEG_TILE_RANK;
    while (width < rank)
        width *= 2;
    return width;
}

cudaError_t dense_nonneg_tiles(const struct dense_nonneg_args *args, enum precision precision,
                               const struct dense_streams *streams);
cudaError_t dense_nonneg_wide(const struct dense_nonneg_args *args, enum precision precision,
                              cudaStream_t stream);

LAUNCHERS_END
