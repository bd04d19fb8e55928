/* Kernels that measure how fast the GPU can copy, gather random rows of 16-byte vectors, and add to
 * random rows atomically. Device pointers only; nothing of src/ is known here. Asynchronous; the
 * launch's error is returned. */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Sets a table (count vectors) to numbers from 1 to 2. */
cudaError_t peak_fill(void *table, uint64_t count, enum precision precision, cudaStream_t stream);

/* to (count vectors) = from, which it does not overlap. */
cudaError_t peak_copy(void *to, const void *from, uint64_t count, cudaStream_t stream);

/* Rows of a table (rows x vectors) with entries of either precision. */
struct peak_rows {
    void *table;
    uint32_t rows, vectors;
    enum precision precision;
    uint32_t processors; /* of the device                                              */
    uint64_t count;      /* rows wanted; rounded up to what the launch goes through    */
};

/* Reads `count` random rows of a filled table, and writes nothing. */
cudaError_t peak_gather(struct peak_rows *r, cudaStream_t stream);

/* Adds a row to `count` random rows, atomically as conflicting updates of M. */
cudaError_t peak_atomic(struct peak_rows *r, cudaStream_t stream);

LAUNCHERS_END
