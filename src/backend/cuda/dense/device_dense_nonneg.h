/* The update of a nonnegative factor matrix on the device. Used by device_dense.c alone. */
#ifndef BLCO_DEVICE_DENSE_NONNEG_H
#define BLCO_DEVICE_DENSE_NONNEG_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/dense/dense_nonneg.h"
#include "numerics/precision.h"

struct device_dense_nonneg {
    uint32_t rank;
    uint64_t ld;
    enum precision precision;
    uint32_t processors; /* multiprocessors of the device                   */
    double *system;      /* of dense_nonneg_prepare; NULL until it is opened; device, owned */
};

/* The caller closes *d, also after a failure. STATUS_INPUT where R is too large, STATUS_MEMORY. */
enum status device_dense_nonneg_open(struct device_dense_nonneg *d, int device, uint32_t rank,
                                     uint64_t ld, enum precision precision, struct error *error);

/* Accepts a zeroed one. */
void device_dense_nonneg_close(struct device_dense_nonneg *d);

/* The rows of A, as dense_nonneg makes them, with d->system. ld, rank, system and processors of
 * *asked are not used. */
enum status device_dense_nonneg_rows(const struct device_dense_nonneg *d,
                                     const struct dense_nonneg_args *asked,
                                     const struct dense_streams *streams, struct error *error);

#endif
