/* Rows of random numbers: the random start, made where it is needed. Device pointers only; nothing
 * of src/ is known here. Asynchronous; the launch's error is returned. */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

#define DENSE_NO_ROW UINT64_MAX /* the number of a row of zeros */

struct dense_random_args {
    void *a; /* (rows x ld) */
    uint64_t rows;
    uint32_t ld, rank;
    int mode;
    uint64_t seed;
    uint64_t first;      /* row i has the number first + i in the whole matrix ...              */
    const uint64_t *row; /* (rows): ... or row[i], where this is not NULL; or DENSE_NO_ROW       */
};

/* a = the rows of random numbers, uniform on [0, 1), of random_model_words, rounded to single where
 * the precision is. Columns R to ld become zero. */
cudaError_t dense_random(const struct dense_random_args *args, enum precision precision,
                         cudaStream_t stream);

LAUNCHERS_END
