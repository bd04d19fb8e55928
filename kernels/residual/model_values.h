/* The values of a model at coordinates. Device pointers only; nothing of src/ is known here.
 * Asynchronous; the launch's error is returned. */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

struct model_values_args {
    int order;
    uint64_t count;
    const uint32_t *index[MAX_ORDER]; /* (count) of each mode                                   */
    const void *rows[MAX_ORDER];      /* (I_n x vectors * 16 bytes)                             */
    const double *weight; /* (R): the value is sum_r weight[r] prod_n rows_n(i_n, r)             */
    uint32_t rank;
    uint32_t vectors; /* 16-byte vectors in a row of a factor matrix */
    enum precision precision;
    double *value; /* (count) */
};

cudaError_t model_values(const struct model_values_args *args, cudaStream_t stream);

LAUNCHERS_END
