/* The R x R work of an update on the device: V = the Hadamard product of the other modes' Grams,
 * and W, by which M is multiplied, by Cholesky, or where V is ill-conditioned by V's eigenvectors.
 * Used by device_dense.c alone. */
#ifndef BLCO_DEVICE_DENSE_INVERSE_H
#define BLCO_DEVICE_DENSE_INVERSE_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/cuda/dense/cusolver_library.h"
#include "base/error.h"
#include "kernels/dense/dense_inverse.h"
#include "numerics/precision.h"

/* All arrays are in device memory, but for host_flags and host_v; all are owned. */
struct device_dense_inverse {
    uint32_t rank;
    enum precision precision; /* of factors and M                                */
    double *v, *factor;       /* (R x R) each                                    */
    double *values;           /* (R): eigenvalues                                */
    int *flags;               /* enum dense_inverse_status, cuSOLVER's info      */
    int *host_flags;          /* (2), pinned                                     */
    bool by_eigenvectors;     /* after W, M is multiplied by V's eigenvectors, in factor */
    struct dense_halt halt;   /* stops later steps where nothing waits; code: of the last W */
    const struct cusolver_library *cusolver; /* NULL where R is small                    */
    cusolverDnHandle_t solver;               /* likewise                                 */
    double *work;                            /* (work_size) for cuSOLVER                 */
    int work_size;
    double *host_v; /* (R x R + R): V and its eigenvalues, for small R; host; NULL at first */
};

/* The caller closes *d, also after a failure. STATUS_MEMORY; STATUS_INPUT where R is large and
 * there is no cuSOLVER. */
enum status device_dense_inverse_open(struct device_dense_inverse *d, uint32_t rank,
                                      enum precision precision, struct error *error);

/* Accepts a zeroed one. */
void device_dense_inverse_close(struct device_dense_inverse *d);

/* w (R x R, device) = W as device_dense_inverse says. Waits for the stream, unless there is a halt.
 * STATUS_NUMERICAL where the eigendecomposition does not converge; errors of lapack_library. */
enum status device_dense_inverse_compute(struct device_dense_inverse *d,
                                         const struct dense_modes *modes, double ridge, double *w,
                                         cudaStream_t stream, struct error *error);

#endif
