/* Statistics of the columns of a factor matrix: the entry of largest magnitude and the sum of
 * squares of each, or the sum alone. Device pointers only; nothing of src/ is known here.
 * Asynchronous; the launch's error is returned. Results repeat bit for bit on one device. */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Statistics of a column, of some rows. */
struct dense_column {
    double largest; /* of the entries, with its sign; of equals, that of the lowest row number */
    double sum;     /* of the squares of the entries times column_scale(largest)               */
    uint64_t row;   /* the number of the row that has `largest`; UINT64_MAX without rows       */
};

struct dense_columns_args {
    const void *a; /* (rows x ld) */
    uint64_t rows;
    uint32_t ld, rank;
    const double *scale; /* (R): the entries are those of A times this ...                     */
    const double *weight, *bound; /* (R): ... or 0 where such an entry times its weight is not
                                   * above its bound                                           */
    uint64_t first;               /* row i has the number first + i ...                        */
    const uint64_t *row;          /* (rows): ... or row[i], where this is not NULL             */
    struct dense_column *partial; /* (blocks x R): of the rows of each thread block            */
    uint32_t blocks;              /* 1 or more */
};

cudaError_t dense_columns(const struct dense_columns_args *args, enum precision precision,
                          cudaStream_t stream);

#define DENSE_SUM_PARTS 512

struct dense_column_sums_args {
    const void *a; /* (rows x ld) */
    uint64_t rows;
    uint32_t ld, rank;
    double *partial; /* (DENSE_SUM_PARTS x R): room */
    double *sum;     /* (R)                         */
};

/* sum_r = the sum of the entries of column r. Two launches. */
cudaError_t dense_column_sums(const struct dense_column_sums_args *args, enum precision precision,
                              cudaStream_t stream);

LAUNCHERS_END
