/* The two parts of the residual (backend_fit.h) that the host computes: a sum over the
 * nonzeros, and the Grams of factor matrices; and the sums over the nonzeros that tell what each
 * component explains. Sums do not depend on the number of threads.
 * Implemented in host_residual.c and host_residual_simd.c. */
#pragma once

#include <stdint.h>

#include "backend/host/host_sweep.h"
#include "numerics/double_double.h"
#include "tensor/shape.h"

/* The model, and some nonzeros. Arrays are not owned. */
struct host_residual_terms {
    int order;
    uint64_t rank;
    const double *weight;             /* (R)                                                   */
    const void *rows[MAX_ORDER];      /* (I_n x R): the factor matrices                        */
    const double *value;              /* (count)                                               */
    double unlisted;                  /* the weight of unlisted entries (dd_weighed_misfit)    */
    bool rates;                       /* the model's values are rates (component_term)         */
    const uint32_t *at[MAX_ORDER];    /* (count): coordinates in mode n, or in its group       */
    const uint32_t *tuple[MAX_ORDER]; /* (tuples): coordinates in mode n of its group's tuples,
                                       * where the group has several modes; else NULL          */
};

/* A pass over all nonzeros, by one of the orderings and all OpenMP threads. *misfit += the sum of
 * dd_weighed_misfit; or, unless `components` (2 x R) is NULL, that += each component_term
 * (numerics/row_term.h), `explained` and `lost`, in doubles. *model has weight, unlisted and rates,
 * and `factors` the rows; the rest of it is not read. STATUS_MEMORY. */
enum status host_residual_sum(const struct host_sweep *s, const struct host_rows *factors,
                              const struct host_residual_terms *model, struct double_double *misfit,
                              double *components, struct error *error);

/* gram (R x R): its entries (i, j) with i <= j = A'A of A (rows x R). By all OpenMP threads.
 * STATUS_MEMORY. */
enum status host_residual_gram(const void *a, uint64_t rows, uint64_t rank,
                               enum precision precision, struct double_double *gram,
                               struct error *error);

/* The rest is only for host_residual.c and host_residual_simd.c: the inner loops, in twice the
 * digits of a double. Compiled once for each kind of entries and each SIMD width, that of the
 * vectors of doubles to which entries are widened. */

struct host_residual_kernels {
    /* The sum over `count` nonzeros of dd_weighed_misfit. */
    struct double_double (*nonzeros)(const struct host_residual_terms *p, uint64_t count);
    /* sum (2 x R) += each component_term of `count` nonzeros. y (R): room. */
    void (*components)(const struct host_residual_terms *p, uint64_t count, double *y, double *sum);
    /* row (R): entry j >= i becomes the inner product of the columns i and j of A (rows x R). */
    void (*gram_row)(const void *a, uint64_t rows, uint64_t rank, uint64_t i,
                     struct double_double *row);
};

extern const struct host_residual_kernels host_residual_double1, host_residual_double4,
    host_residual_double8;
extern const struct host_residual_kernels host_residual_float1, host_residual_float4,
    host_residual_float8;
