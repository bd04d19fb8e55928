/* Solve and Gram by cuBLAS, for rows that are too long for the fused kernel. Used by device_dense.c
 * alone. */
#ifndef BLCO_DEVICE_DENSE_WIDE_H
#define BLCO_DEVICE_DENSE_WIDE_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "backend/cuda/dense/cublas_library.h"
#include "base/error.h"
#include "numerics/precision.h"

struct device_dense_wide {
    const struct cublas_library *cublas;
    cublasHandle_t blas; /* owned */
    uint64_t rank, ld;
    enum precision precision;
    uint64_t parts; /* of a panel of rows: each has a Gram of its own, so that they fill the card */
    uint64_t part_rows; /* rows of a part */
    double *weights;    /* (R x ld): W, padded with zeros; device, owned                      */
    double *grams;      /* (parts x R x R); device, owned                                     */
    double *m, *a;      /* (parts * part_rows x ld) each: a panel as doubles; NULL in double
                         * precision; device, owned */
};

/* The caller closes *w, also after a failure. STATUS_MEMORY;
 * STATUS_INPUT without cuBLAS. */
enum status device_dense_wide_open(struct device_dense_wide *w, uint64_t rank, uint64_t ld,
                                   enum precision precision, struct error *error);
void device_dense_wide_close(struct device_dense_wide *w);

/* A = M W and raw = A' A; arguments as in device_dense_apply. */
enum status device_dense_wide_solve(struct device_dense_wide *w, const void *m,
                                    const double *weights, void *a, uint64_t rows, double *raw,
                                    cudaStream_t stream, struct error *error);

/* raw = A' A. */
enum status device_dense_wide_gram(struct device_dense_wide *w, const void *a, uint64_t rows,
                                   double *raw, cudaStream_t stream, struct error *error);

#endif
