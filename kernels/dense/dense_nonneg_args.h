/* What a pass over the rows of a nonnegative factor matrix works on. */
#pragma once

#include <stdint.h>

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
