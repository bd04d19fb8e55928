/* One pass over a long factor matrix in ALS: solve, Gram and inner products. Factor matrices are
 * row-major, `ld` entries (a multiple of 16 bytes) a row, of either precision; all other arrays
 * are double. Device pointers only; nothing of src/ is known here.
 *
 * Every sum over rows has two stages, thread blocks and then their partial results in a fixed
 * order, so results repeat bit for bit on one device. Asynchronous; the launch's error is returned.
 */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Longest row that dense_apply takes, in entries. */
#define DENSE_SOLVE_LD 64

/* Doubles that one thread block of dense_apply leaves in `partial`. */
uint64_t dense_apply_partial(uint64_t ld);

/* *blocks = the thread blocks of dense_apply that run at once on the present device; comes first
 * there, since it allows the kernel its shared memory. */
cudaError_t dense_apply_blocks(uint64_t ld, enum precision precision, uint32_t *blocks);

/* A = M W, raw (R x R) = A' A and inner (R) = the diagonal of M' A, reading M and writing A once; A
 * may be M. W NULL stands for the identity; A NULL: A is not kept; inner NULL: inner is not wanted.
 * Columns R to ld of M are ignored, those of A become zero. */
struct dense_apply_args {
    const void *m;   /* (rows x ld) */
    const double *w; /* (R x R)     */
    void *a;         /* (rows x ld) */
    uint64_t rows;
    uint32_t ld, rank;
    double *partial; /* (blocks x dense_apply_partial(ld)) */
    uint32_t blocks; /* thread blocks at most */
    double *raw;     /* (R x R)     */
    double *inner;   /* (R)         */
    const int *halt; /* nothing is done where this is not 0; may be NULL */
};

/* The streams of the pass and of its second stage, so that the pass's stream may go on at once. */
struct dense_streams {
    cudaStream_t pass, sums;
    cudaEvent_t passed; /* recorded after the pass; unused where both are one stream */
};

/* Later work on `sums` waits for the work now on `pass`. */
static inline cudaError_t dense_streams_join(const struct dense_streams *streams)
{
    if (streams->sums == streams->pass)
        return cudaSuccess;
    cudaError_t code = cudaEventRecord(streams->passed, streams->pass);
    return code == cudaSuccess ? cudaStreamWaitEvent(streams->sums, streams->passed, 0) : code;
}

/* The next pass must wait for the sums of this one, which read `partial`. */
cudaError_t dense_apply(const struct dense_apply_args *args, enum precision precision,
                        const struct dense_streams *streams);

LAUNCHERS_END
