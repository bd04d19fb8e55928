/* The update of a mode where each row has a system of its own, because unlisted entries do not
 * count as listed ones do (numerics/row_term.h), or because values are counts
 * (numerics/poisson_term.h). */
#pragma once

#include "backend/host/host_state.h"

/* Arrays for the systems of all rows of a mode. STATUS_MEMORY. */
enum status host_row_systems_create(struct host_row_systems *s, const struct host_model *model,
                                    struct error *error);

/* Accepts an empty one. */
void host_row_systems_free(struct host_row_systems *s);

/* In place of an MTTKRP: h->solve.m = the new rows of `mode`, where this rank solves them, in the
 * scale of the entries to be; their scale is left in h->solve.column. STATUS_MEMORY; failures of
 * other ranks. */
enum status host_row_update_solve(struct host_state *h, int mode, struct error *error);

/* In place of the solve: h->solve.m becomes the factor matrix of `mode`, whole, with its Gram and
 * scales. STATUS_MEMORY; failures of other ranks. */
enum status host_row_update_take(struct host_state *h, int mode, struct error *error);

/* *s = what the fit is computed from; model_sq is ||Y||^2, model_size the sum of the magnitudes of
 * its terms. */
void host_row_update_squares(const struct host_state *h, int mode, double model_sq,
                             double model_size, struct fit_squares *s);

/* The fit of a model of counts, from a pass over the nonzeros in the ordering of `mode`.
 * STATUS_NUMERICAL where it is not finite; STATUS_MEMORY; failures of other ranks. */
enum status host_row_update_fit_counts(struct host_state *h, int mode, struct backend_fit *fit,
                                       struct error *error);

/* --- The steps of rows from their systems (host_systems.h): sinks that put the new rows of a mode
 * into h->solve.m, in the scale of the entries to be. Implemented in host_row_squares.c
 * (numerics/row_term.h) and host_row_counts.c (numerics/poisson_term.h). --- */

/* A pass over the nonzeros in the ordering of a mode, which makes new rows of that mode. */
struct host_row_pass {
    struct host_state *h;
    host_system_sink *step;   /* of this loss, with the pass as context   */
    uint64_t scratch;         /* doubles that the step takes              */
    const struct comm *peers; /* who sends systems,                       */
    double *sent;             /* where, borrowed,                         */
    uint64_t from;            /* and the row whose system is the first one */
};

/* Fills what squares or rates need of h->systems, for rows in units of h->systems.now, where
 * h->solve.row (R) has by how much the entries' columns are longer than those of the model. Returns
 * the doubles of scratch memory that the step takes. */
uint64_t host_row_squares_begin(struct host_state *h, int mode);
uint64_t host_row_counts_begin(struct host_state *h, int mode);

/* Each row a becomes a + d, where d solves the system. Free rows: by Cholesky's factors of H; where
 * H is singular, a small multiple of the identity is added to it, which leaves d near the shortest
 * of all solutions. Nonnegative rows: by passes of coordinate descent (HALS) on H. A row without
 * known entries is zero, and so it is already, whatever unlisted ones weigh: its least misfit is 0.
 */
host_system_sink host_row_squares_solve;

/* Each row a becomes a better one: the objective never rises. A row without counts is zero.
 * totals->violation: the largest |min(a, g)| of the rows as they were.
 *
 * SOLVER_MU: a (b / (h s + q)), the multiplicative step (D. D. Lee, H. S. Seung, NIPS 2000).
 *
 * SOLVER_NEWTON: the step d that coordinate descent finds for the quadratic model, which leaves
 * POISSON_KEEPS of each entry at least, damped by 1 / (1 + L) where L = sqrt(d'Hd / least) is not
 * small. The objective divided by the least value is self-concordant, so that it then falls by
 * least (L - log(1 + L)) or more (Y. Nesterov: *Lectures on Convex Optimization*, 2018,
 * section 5.2). Where the multiplicative step surely gains more, that one is taken. Short rows
 * (poisson_short_rows) take the diagonal step instead, damped likewise: multiplied so that the
 * model has the row's total, all entries go to their own minima of the quadratic model, as far as
 * that falls. It makes small entries large at once, as multiplicative steps do not, and leaves more
 * of the others than Newton's, which ends where few entries have all. */
host_system_sink host_row_counts_improve;

/* The inner product of two vectors. In a function with VECTOR_CLONES it has the longest vectors of
 * the processor. */
static inline double host_inner(const double *x, const double *y, uint64_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}
