/* Statistics of the columns of a factor matrix on the device, in parts that the caller merges. */
#pragma once

#include "base/error.h"
#include "kernels/dense/dense_columns.h"

struct device_columns {
    cudaStream_t stream;
    uint64_t rank;
    uint32_t blocks;              /* of a pass, at most                                   */
    double *entry;                /* (3 x R): scale, weight and bound; device, owned      */
    struct dense_column *partial; /* (blocks x R); device, owned                          */
    struct dense_column *found;   /* (blocks x R): the same, on the host; owned           */
};

/* For work on `stream` of the device of this number, which is the calling thread's. The caller
 * closes *c, also after a failure. STATUS_MEMORY. */
enum status device_columns_open(struct device_columns *c, int device, uint64_t rank,
                                cudaStream_t stream, struct error *error);

/* Accepts a zeroed one. */
void device_columns_close(struct device_columns *c);

/* c->found (*parts x R) = the statistics of *parts parts of the rows. The caller sets a, rows, ld,
 * first and row of *args; entry (3 x R, host) has scale, weight and bound of each column. Waits for
 * the stream. */
enum status device_columns_measure(struct device_columns *c, const struct dense_columns_args *args,
                                   enum precision precision, const double *entry, uint32_t *parts,
                                   struct error *error);
