/* The steps of rows from their systems (host_systems.h): sinks that put the new rows of a mode into
 * h->solve.m, in the scale of the entries to be. Implemented in host_row_squares.c
 * (numerics/row_term.h) and host_row_counts.c (numerics/poisson_term.h). */
#pragma once

#include <stdint.h>

#include "backend/host/host_state.h"

/* What all rows of a mode have in common. Arrays are borrowed. Entry r of a row is unit[r] times
 * that of the factor matrix with its weights. */
struct host_row_common {
    struct row_rules rules;
    uint64_t rank, ld;    /* rows of matrices have ld entries, the last ones 0          */
    const double *v;      /* of squares: (R x ld) h V, whole; NULL where it is 0       */
    const double *ridge;  /* of squares: (R) of each component                         */
    const double *cell;   /* of squares: (R) of row_whole                              */
    const double *linear; /* of rates: (R) h s                                         */
    const double *unit;   /* of rates: (R)                                             */
};

/* A pass over the nonzeros in the ordering of a mode, which makes new rows of that mode. */
struct host_row_pass {
    struct host_state *h;
    struct host_row_common common;
    host_system_sink *step;   /* of this loss, with the pass as context   */
    uint64_t scratch;         /* doubles that the step takes              */
    const struct comm *peers; /* who sends systems,                       */
    double *sent;             /* where, borrowed,                         */
    uint64_t from;            /* and the row whose system is the first one */
};

/* Fills what squares or rates need of *c, and the arrays of h->systems that they are in, for rows
 * in units of h->systems.now, where h->solve.row (R) has by how much the entries' columns are
 * longer than those of the model. Returns the doubles of scratch memory that the step takes. */
uint64_t host_row_squares_begin(struct host_state *h, int mode, struct host_row_common *c);
uint64_t host_row_counts_begin(struct host_state *h, int mode, struct host_row_common *c);

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
