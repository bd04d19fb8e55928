/* Makes the rows of a factor matrix from those of M on the host: by V^+, or, for a nonnegative
 * matrix, by HALS. */
#ifndef BLCO_HOST_SOLVER_H
#define BLCO_HOST_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_dense_inverse.h"
#include "backend/host/host_nonneg.h"
#include "base/error.h"

struct host_solver {
    bool is_nonneg;                    /* which of the two is used  */
    struct host_dense_inverse inverse; /* owned                     */
    struct host_nonneg nonneg;         /* owned                     */
};

/* The caller frees *s with host_solver_free; it is empty on failure. v (R x R) is start->v, which
 * this destroys. For an unconstrained matrix, only v, m, out and precision of *start are used.
 * Errors of host_dense_inverse_create and host_nonneg_create. */
enum status host_solver_create(struct host_solver *s, bool is_nonneg, double *v,
                               const struct host_nonneg_start *start, uint64_t rank,
                               struct error *error);

/* Accepts an empty one. */
void host_solver_free(struct host_solver *s);

/* A (rows x R) from M, G (R x R, full) = A' A, and inner[r] (R) = sum over i of M(i,r) A(i,r). M
 * and A may be the same array unless the matrix is nonnegative; then A has the old rows.
 * STATUS_MEMORY.
 */
enum status host_solver_rows(const struct host_solver *s, const struct host_dense_rows *rows,
                             double *g, double *inner, struct error *error);

#endif
