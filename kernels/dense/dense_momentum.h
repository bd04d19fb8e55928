/* Momentum on the device (kernels/shared/momentum_step.h): the decision on the next sweep, and the
 * extrapolated factor matrices. Factor matrices are row-major, `ld` entries (a multiple of 16
 * bytes) a row, of either precision; all other arrays are double. Device pointers only; nothing of
 * src/ is known here. Asynchronous; the launch's error is returned. Nothing is done where *halt is
 * not 0. */
#ifndef BLCO_DENSE_MOMENTUM_H
#define BLCO_DENSE_MOMENTUM_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/dense/dense_weights.h"
#include "kernels/shared/fit_terms.h"
#include "kernels/shared/momentum_step.h"
#include "kernels/shared/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What stays on the device from sweep to sweep. */
struct dense_momentum {
    struct momentum state;
    struct momentum_step step;
    double penalty; /* of the last fit, struct fit_terms */
};

/* What a sweep has come to. */
struct dense_momentum_fit {
    const struct dense_fit_terms *terms; /* device                                   */
    double norm_sq, epsilon;             /* struct fit_terms                         */
    double ridge;                        /* of the mode that was updated last        */
    const double *lambda;                /* (R): the norms of that mode; device      */
    uint32_t rank;
};

/* In one thread block: momentum_next of *m with this fit, into m->step. kept (R) = lambda, unless
 * the sweep is taken back. */
cudaError_t dense_momentum_decide(const struct dense_momentum_fit *fit, struct dense_momentum *m,
                                  double *kept, const int *halt, cudaStream_t stream);

/* S (rows x ld) = Y, from A and S of the columns' norms norm_a and norm_s (R; 0 counts as 1), in
 * one pass; a column of A that is zero, as gram_a (R x R) tells, stays so; negative entries become
 * zero where `clip`. For the step (1, 0), S = A as it stands; for (0, 1), S stays. Columns R to ld
 * of A are zero, those of S become so. */
struct dense_extrapolate_args {
    const void *a;
    void *s;
    uint64_t rows;
    uint32_t ld, rank;
    const double *norm_a, *gram_a, *norm_s;
    int clip;
    const struct momentum_step *step; /* device */
    const int *halt;
};

cudaError_t dense_extrapolate(const struct dense_extrapolate_args *args, enum precision precision,
                              cudaStream_t stream);

/* Norms and Gram of unit columns of what dense_extrapolate has made of S, into norm_s (R) and
 * gram_s (R x R): from raw (R x R) = S'S; for the step (1, 0) those of A; for (0, 1) they stay. */
cudaError_t dense_extrapolated_gram(const double *raw, uint32_t rank, const double *norm_a,
                                    const double *gram_a, double *norm_s, double *gram_s,
                                    const struct momentum_step *step, const int *halt,
                                    cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
