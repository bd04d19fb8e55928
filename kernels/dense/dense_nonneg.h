/* The update of a nonnegative factor matrix (numerics/nonneg.h): one pass over its rows and
 * M's, which keeps rows in registers. Device pointers only; nothing of src/ is known here.
 * Asynchronous; the launch's error is returned. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/dense/dense_modes.h"
#include "kernels/dense/dense_nonneg_args.h"
#include "kernels/dense/dense_apply.h"
#include "numerics/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest R. */
#define DENSE_NONNEG_RANK 1024

/* Doubles of `system` below. */
uint64_t dense_nonneg_system_size(uint32_t rank);

/* What all rows of an update need, into `system`: V with the ridge, divided by its diagonal, and
 * the scales of M and A. lambda (R): of the model before. rows: of the whole factor matrix. Does
 * nothing where *halt is not 0; halt may be NULL. */
cudaError_t dense_nonneg_prepare(const struct dense_modes *modes, double ridge,
                                 const double *lambda, uint64_t rows, enum precision precision,
                                 double *system, const int *halt, cudaStream_t stream);

/* Whether dense_nonneg also leaves A' A and the inner products: up to a rank, registers have room
 * for them. */
int dense_nonneg_sums(uint32_t rank);

/* The rows of A, in place, from those of M. As after dense_apply, the next pass must wait for the
 * sums of this one. */
cudaError_t dense_nonneg(const struct dense_nonneg_args *args, enum precision precision,
                         const struct dense_streams *streams);

#ifdef __cplusplus
}
#endif
