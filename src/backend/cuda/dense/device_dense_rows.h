/* The rows of M and of a factor matrix A that a pass of the dense steps works on. */
#ifndef BLCO_DEVICE_DENSE_ROWS_H
#define BLCO_DEVICE_DENSE_ROWS_H

#include <stdint.h>

/* Device pointers. */
struct device_dense_rows {
    const void *m; /* (count x ld)                                                  */
    void *a;       /* (count x ld), not M; its columns R to ld become zero          */
    uint64_t count;
    double *raw; /* (R x R) = A' A, which is there when the side stream gets there; the next pass
                  * must wait for that                                              */
};

#endif
