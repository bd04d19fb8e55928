/* A = M W and A' A by cuBLAS, for rows that are too long for dense_apply. Used by device_dense.c
 * and device_dense_extrapolate.c alone. */
#ifndef BLCO_DEVICE_DENSE_WIDE_H
#define BLCO_DEVICE_DENSE_WIDE_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "backend/cuda/dense/cublas_library.h"
#include "backend/cuda/dense/device_dense_rows.h"
#include "base/error.h"
#include "numerics/precision.h"

struct device_dense_wide {
    const struct cublas_library *cublas;
    cublasHandle_t blas; /* owned */
    cudaStream_t stream;
    uint64_t rank, ld;
    enum precision precision;
    uint64_t parts; /* of a panel of rows: each has a Gram of its own, so that they fill the GPU  */
    uint64_t part_rows; /* rows of a part */
    double *padded_w;   /* (R x ld): W and zeros; device, owned                               */
    double *grams;      /* (parts x R x R); device, owned                                     */
    double *m, *a;      /* (parts * part_rows x ld) each: a panel as doubles; NULL in double
                         * precision; device, owned */
};

/* For work on `stream`. The caller closes *w, also after a failure. STATUS_MEMORY; STATUS_INPUT
 * without cuBLAS. */
enum status device_dense_wide_open(struct device_dense_wide *w, uint64_t rank, uint64_t ld,
                                   enum precision precision, cudaStream_t stream,
                                   struct error *error);
void device_dense_wide_close(struct device_dense_wide *w);

/* A = M W, where `matrix` (R x R, device) is W, and raw = A' A, for later work on the stream. */
enum status device_dense_wide_solve(struct device_dense_wide *w,
                                    const struct device_dense_rows *rows, const double *matrix,
                                    struct error *error);

/* raw = A' A; rows->m is not used, and A is only read. */
enum status device_dense_wide_gram(struct device_dense_wide *w,
                                   const struct device_dense_rows *rows, struct error *error);

#endif
