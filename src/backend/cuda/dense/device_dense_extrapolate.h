/* Extrapolated factor matrices of all modes on the device. Used by device_dense.c alone. */
#ifndef BLCO_DEVICE_DENSE_EXTRAPOLATE_H
#define BLCO_DEVICE_DENSE_EXTRAPOLATE_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "backend/cuda/dense/device_dense_wide.h"
#include "base/error.h"
#include "kernels/dense/dense_extrapolate.h"
#include "kernels/dense/dense_apply.h"
#include "numerics/precision.h"

struct device_dense_extrapolate {
    enum precision precision;
    struct device_dense_wide *wide; /* rows are too long for dense_extrapolate_gram; else NULL */
    uint32_t blocks;                /* thread blocks of a pass, where not wide                 */
    double *partial; /* their results; NULL until it is opened, or wide; device, owned */
};

/* For rows of ld entries; wide: those of long rows, which must outlive *d; else NULL. The caller
 * closes *d, also after a failure. STATUS_MEMORY. */
enum status device_dense_extrapolate_open(struct device_dense_extrapolate *d, int device,
                                          uint64_t ld, enum precision precision,
                                          struct device_dense_wide *wide, struct error *error);

/* Accepts a zeroed one. */
void device_dense_extrapolate_close(struct device_dense_extrapolate *d);

/* S = Y of all modes, and raw (modes x R x R) = Y'Y of the rows that count, for later work on the
 * stream of sums. Asynchronous. */
enum status device_dense_extrapolate_rows(struct device_dense_extrapolate *d,
                                          const struct dense_extrapolate_args *args, double *raw,
                                          const struct dense_streams *streams, struct error *error);

#endif
