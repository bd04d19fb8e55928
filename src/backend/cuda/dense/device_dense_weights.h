/* The R x R side of a solve on the device: V = the Hadamard product of the other modes' Grams, and
 * what M is multiplied by to undo it, by Cholesky or where V is ill-conditioned by V's
 * eigenvectors. Used by device_dense.c alone. */
#ifndef BLCO_DEVICE_DENSE_WEIGHTS_H
#define BLCO_DEVICE_DENSE_WEIGHTS_H

#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/dense/dense_weights.h"

/* Arrays of the device, all owned, but for host_flags. */
struct device_dense_weights {
    uint32_t rank;
    int single;                /* factors and M are float                         */
    double *v, *factor;        /* (R x R) each                                    */
    double *values;            /* (R): eigenvalues                                */
    int *flags;                /* enum dense_weights_status, cuSOLVER's info      */
    int *host_flags;           /* (2), pinned                                     */
    bool by_eigenvectors;      /* the last W is to be followed by V's eigenvectors, in factor */
    struct dense_halt halt;    /* of the steps, where weights do not wait; code: the last one's */
    cusolverDnHandle_t solver; /* opened when it is needed                        */
    double *work;              /* cuSOLVER's                                      */
    int work_size;
};

/* On failure *d is still to be closed. */
enum status device_dense_weights_open(struct device_dense_weights *d, uint32_t rank, int single,
                                      struct error *error);

/* Accepts a zeroed one. */
void device_dense_weights_close(struct device_dense_weights *d);

/* W (R x R, device) as device_dense_weights has it. Waits for the stream, unless there is a halt.
 * STATUS_NUMERICAL where the eigendecomposition does not converge. */
enum status device_dense_weights_compute(struct device_dense_weights *d,
                                         const struct dense_modes *modes, double ridge, double *w,
                                         cudaStream_t stream, struct error *error);

#endif
