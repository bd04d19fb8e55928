/* The dense steps of ALS on the host, by all OpenMP threads: passes over the rows of tall and thin
 * matrices, in panels that stay in cache. All is computed in double precision, even for entries in
 * single. How the rows are cut does not depend on the number of threads, nor do the results.
 * Matrices are row-major. Errors: STATUS_MEMORY. */
#pragma once

#include <stdint.h>

#include "backend/host/host_dense_inverse.h"
#include "backend/host/host_nonneg.h"
#include "base/error.h"
#include "numerics/precision.h"

/* Rows of a factor matrix and of M; borrowed. */
struct host_dense_rows {
    const void *m; /* (rows x R) */
    void *a;       /* (rows x R) */
    uint64_t rows;
    enum precision precision; /* of the entries of both */
};

/* G (R x R, full) = A' A of A (rows x R). */
enum status host_dense_gram(const void *a, uint64_t rows, uint64_t rank, enum precision precision,
                            double *g, struct error *error);

/* In one pass: A (rows x R) = M V^+, with V^+ given by `inverse`; or, where that is NULL, the
 * nonnegative rows that `nonneg` makes from M and the old A; G (R x R, full) = A' A, of the A that
 * is stored; and inner[r] (R) = sum over i of M(i,r) A(i,r). Without `nonneg`, M and A may be the
 * same array. */
enum status host_dense_update(const struct host_dense_inverse *inverse,
                              const struct host_nonneg *nonneg, const struct host_dense_rows *rows,
                              double *g, double *inner, struct error *error);

/* Multiplies column r of A (rows x R) by scale[r]. */
void host_dense_scale_columns(void *a, uint64_t rows, uint64_t rank, enum precision precision,
                              const double *scale);
