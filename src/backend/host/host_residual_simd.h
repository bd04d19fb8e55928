/* The inner loops of host_residual.c, in twice the digits of a double. Compiled once for each kind
 * of entries and each SIMD width, that of the vectors of doubles to which entries are widened. */
#ifndef BLCO_HOST_RESIDUAL_SIMD_H
#define BLCO_HOST_RESIDUAL_SIMD_H

#include <stdint.h>

#include "numerics/double_double.h"
#include "tensor/shape.h"

/* Some nonzeros, and the model. Arrays are not owned. */
struct host_residual_terms {
    int order;
    uint64_t rank;
    const double *weight;             /* (R)                                                   */
    const void *rows[MAX_ORDER];      /* (I_n x R): the factor matrices                        */
    const double *value;              /* (count)                                               */
    double unlisted;                  /* the weight of unlisted entries (dd_weighed_misfit)    */
    const uint32_t *at[MAX_ORDER];    /* (count): coordinates in mode n, or in its group       */
    const uint32_t *tuple[MAX_ORDER]; /* (tuples): coordinates in mode n of its group's tuples,
                                       * where the group has several modes; else NULL          */
};

struct host_residual_kernels {
    /* The sum over `count` nonzeros of dd_weighed_misfit. */
    struct double_double (*nonzeros)(const struct host_residual_terms *p, uint64_t count);
    /* row (R): entry j >= i becomes the inner product of the columns i and j of A (rows x R). */
    void (*gram_row)(const void *a, uint64_t rows, uint64_t rank, uint64_t i,
                     struct double_double *row);
};

extern const struct host_residual_kernels host_residual_double1, host_residual_double4,
    host_residual_double8;
extern const struct host_residual_kernels host_residual_float1, host_residual_float4,
    host_residual_float8;

#endif
