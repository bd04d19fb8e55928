/* The two parts of the residual (backend_fit.h) that the host computes: a sum over the
 * nonzeros, and the Grams of factor matrices. Sums do not depend on the number of threads. */
#ifndef BLCO_HOST_RESIDUAL_H
#define BLCO_HOST_RESIDUAL_H

#include "backend/host/host_sweep.h"
#include "numerics/double_double.h"

/* The sum over all nonzeros of dd_weighed_misfit, with unlisted entries of weight `unlisted`, where
 * m = sum over r of weight[r] times the product of the rows of factors->of[n] (I_n x R): a pass
 * over one of the orderings. 0 without nonzeros. By all OpenMP threads. */
struct double_double host_residual_nonzeros(const struct host_sweep *s,
                                            const struct host_rows *factors, const double *weight,
                                            double unlisted);

/* gram (R x R): its entries (i, j) with i <= j = A'A of A (rows x R). By all OpenMP threads.
 * STATUS_MEMORY. */
enum status host_residual_gram(const void *a, uint64_t rows, uint64_t rank,
                               enum precision precision, struct double_double *gram,
                               struct error *error);

#endif
