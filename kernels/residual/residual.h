/* The residual of a model: a pass over the nonzeros, and the Gram of a factor matrix, in twice the
 * digits of a double (double_double.h); and, in doubles, what each component explains and the
 * model's values at coordinates. Device pointers only; nothing of src/ is known here. Asynchronous;
 * the launch's error is returned. */
#pragma once

#include "kernels/mttkrp/mttkrp_args.h"
#include "numerics/double_double.h"
#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* The row numbers of one mode, and its factor matrix. */
struct residual_mode {
    struct mttkrp_field field;  /* the row number, or the number of a tuple             */
    const uint32_t *coordinate; /* (tuples): the tuples' row numbers; NULL: no tuples   */
    const void *rows;           /* (I_n x vectors * 16 bytes)                           */
};

/* Nonzeros and the model. */
struct residual_args {
    struct mttkrp_args mttkrp; /* nonzeros, chunks, bases, vectors, precision */
    int order;
    struct residual_mode mode[MAX_ORDER];
    const double *weight; /* (R): the model's value is sum_r weight[r] prod_n rows_n(i_n, r) */
    uint32_t rank;
    double unlisted;    /* the weight of unlisted entries (dd_weighed_misfit) */
    int rates;          /* the model's values are rates (component_term)      */
    double *components; /* (2 x R): sums of residual_components               */
};

#define RESIDUAL_BLOCKS 1024 /* thread blocks, each with a sum of its own */

/* sum[b] += the sum of dd_weighed_misfit over the nonzeros of thread block b. sum
 * (RESIDUAL_BLOCKS). */
cudaError_t residual_nonzeros(const struct residual_args *args, struct double_double *sum,
                              cudaStream_t stream);

/* term (nonzeros, of the type of `value`, which it may be) = c of each row_term
 * (numerics/row_term.h). */
cudaError_t residual_terms(const struct residual_args *args, void *term, cudaStream_t stream);

/* components += the sum of each component_term (numerics/row_term.h) over the nonzeros, `explained`
 * and `lost`, by atomic additions. */
cudaError_t residual_components(const struct residual_args *args, cudaStream_t stream);

/* value[i] (count) = the model's value, in doubles, at the coordinates mode[n].coordinate[i]. No
 * nonzeros are read. */
cudaError_t residual_values(const struct residual_args *args, uint64_t count, double *value,
                            cudaStream_t stream);

/* The number of slices of the rows for residual_gram: one for about every 1024 rows, at most 512,
 * and at most as many as 64 MB of partial Grams hold. */
uint32_t residual_gram_slices(uint64_t rows, uint32_t rank);

/* partial (slices x R x R): for each slice of the rows of A (rows x vectors * 16 bytes) its part of
 * A'A, entries (i, j) with i <= j; other entries may be unset. */
cudaError_t residual_gram(const void *a, uint64_t rows, uint32_t vectors, uint32_t rank,
                          enum precision precision, uint32_t slices, struct double_double *partial,
                          cudaStream_t stream);

LAUNCHERS_END
