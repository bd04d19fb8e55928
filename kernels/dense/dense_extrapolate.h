/* Extrapolated factor matrices on the GPU (numerics/momentum_step.h), of all modes at once. Factor
 * matrices are row-major, `ld` entries (a multiple of 16 bytes) a row, of either precision; all
 * other arrays are double. Device pointers only; nothing of src/ is known here. Asynchronous; the
 * launch's error is returned. S, norms and Grams stay where *halt is not 0. Sums over rows repeat
 * bit for bit on one device. */
#pragma once

#include "kernels/dense/dense_apply.h"
#include "numerics/momentum_step.h"

LAUNCHERS_BEGIN

/* A mode's factor matrix A and the previous one S, which becomes Y; with norms (R) of the columns
 * and Grams (R x R) of unit columns. */
struct dense_extrapolate_mode {
    const void *a; /* (rows x ld) */
    void *s;       /* (rows x ld) */
    uint64_t rows;
    uint64_t first, count; /* rows [first, first + count) are those that the Gram counts */
    const double *norm_a, *gram_a;
    double *norm_s, *gram_s;
    const double *sum; /* NULL, or (R): the column sums of Y, which are its norms then */
    int clip;          /* no entry of Y is less than ...                               */
    double keeps;      /* ... this times that of A with unit columns; 0 or more        */
};

struct dense_extrapolate_args {
    int modes;
    uint32_t ld, rank;
    const struct momentum_step *step; /* device */
    const int *halt;                  /* device */
    struct dense_extrapolate_mode mode[MAX_ORDER];
};

/* S = Y of every mode, in one pass and one launch, from A and S, whose columns have the norms
 * norm_a and norm_s (0 counts as 1). A column of A that is zero by gram_a stays zero. For the step
 * (1, 0), S = A unchanged; for (0, 1), S stays. Columns R to ld of A are zero, and those of S
 * become zero. */
cudaError_t dense_extrapolate(const struct dense_extrapolate_args *args, enum precision precision,
                              cudaStream_t stream);

/* *blocks = the thread blocks of dense_extrapolate_gram that run at once on the present device. */
cudaError_t dense_extrapolate_blocks(uint64_t ld, enum precision precision, uint32_t *blocks);

/* The same for rows of up to DENSE_SOLVE_LD entries; the pass leaves raw (modes x R x R) = Y'Y of
 * the rows that count, unless S stays. By at most `blocks` thread blocks, but at least one for each
 * mode. partial (blocks x dense_apply_partial(ld)), or as many as there are modes. Two launches,
 * the second one on the stream of sums, for which the next pass must wait. */
cudaError_t dense_extrapolate_gram(const struct dense_extrapolate_args *args,
                                   enum precision precision, double *partial, uint32_t blocks,
                                   double *raw, const struct dense_streams *streams);

/* Norms and Grams of unit columns of S after such a pass, into norm_s and gram_s: from raw (modes x
 * R x R); for the step (1, 0) those of A; for (0, 1) they stay. */
cudaError_t dense_extrapolated_norms(const struct dense_extrapolate_args *args, const double *raw,
                                     cudaStream_t stream);

LAUNCHERS_END
