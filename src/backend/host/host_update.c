/* The steps of an iteration on the host. */
#include "backend/host/host_state.h"

#include <math.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_entries.h"
#include "backend/host/host_ranks.h"
#include "backend/host/host_residual.h"
#include "backend/host/host_solver.h"

#define FAR         256.0 /* the largest scale: those of 16 modes multiply to 2^128 at most ... */
#define FAR_SINGLE  16.0  /* ... or to 2^64, where their products are floats                */
#define FEW_ENTRIES 4096  /* of a factor matrix: scaling so few costs nothing              */

enum status host_state_mttkrp(void *state, int mode, struct error *error)
{
    (void)error;
    struct host_state *h = state;
    if (h->is_empty)
        host_entries_zero(h->m, h->shape.dims[mode] * h->rank, h->sweep.precision);
    else
        host_sweep_mttkrp(&h->sweep, mode, h->factor, h->m);
    return STATUS_OK;
}

/* h->v = the Hadamard product of the Grams of all modes but `mode` (-1: of all modes). */
static void hadamard(struct host_state *h, int mode)
{
    uint64_t rank = h->rank;
#pragma omp parallel for schedule(static) if (rank * rank > 65536)
    for (uint64_t i = 0; i < rank; i++) {
        double *v = h->v + i * rank;
        for (uint64_t j = 0; j < rank; j++)
            v[j] = 1.0;
        for (int n = 0; n < h->shape.order; n++)
            if (n != mode)
                for (uint64_t j = 0; j < rank; j++)
                    v[j] *= h->gram[n][i * rank + j];
    }
}

void host_state_scale_gram(struct host_state *h, int n, const double *scale)
{
    for (uint64_t i = 0; i < h->rank; i++)
        for (uint64_t j = 0; j < h->rank; j++)
            h->gram[n][i * h->rank + j] = h->gram[n][i * h->rank + j] * scale[i] * scale[j];
}

/* column[r] = about 1 / lambda[r], in the expectation that the new norm is near the last one: a
 * power of two, which costs no digits; 1 where lambda[r] is too small or too large to be expected
 * again. */
static void expect_norms(struct host_state *h, double *column)
{
    for (uint64_t r = 0; r < h->rank; r++)
        column[r] =
            h->lambda[r] > 1e-100 && h->lambda[r] < 1e100 ? ldexp(1.0, -ilogb(h->lambda[r])) : 1.0;
}

/* From V in h->v, which is destroyed, with h->row and h->column as scales. */
static enum status create_solver(struct host_state *h, int mode, struct host_solver *s,
                                 struct error *error)
{
    const struct host_nonneg_start start = {.v = h->v,
                                            .m = h->row,
                                            .a = h->scale[mode],
                                            .lambda = h->lambda,
                                            .out = h->column,
                                            .rows = h->ranks->part.whole.dims[mode],
                                            .fit_rows = !h->weights_fit,
                                            .precision = h->sweep.precision};
    return host_solver_create(s, h->rules.nonneg[mode], h->v, &start, h->rank, error);
}

/* a = what the solver makes of M, its Gram and, in h->gram[mode] after the Gram, its columns'
 * products with M's: each rank solves some rows of the sum of all M, and gathers the others. */
static enum status solve_rows(struct host_state *h, int mode, const struct host_solver *s, void *a,
                              struct error *error)
{
    const struct mode_rows *rows = &h->ranks->mode[mode];
    const struct host_dense_rows own = {.m = host_state_row(h, h->m, rows->first),
                                        .a = host_state_row(h, a, rows->first),
                                        .rows = rows->count,
                                        .precision = h->sweep.precision};
    uint64_t square = h->rank * h->rank;
    double *gram = h->gram[mode], *inner = gram + square;
    if (host_ranks_scatter(h, mode, h->m, error) != STATUS_OK)
        return error->status;
    if (host_solver_rows(s, &own, gram, inner, error) != STATUS_OK)
        return error->status;
    if (comm_allreduce_sum(h->ranks->all, gram, square + h->rank, error) != STATUS_OK)
        return error->status;
    return host_ranks_gather(h, mode, a, error);
}

/* From what solve_rows has left: scales, the Gram of the scaled columns, and <X, model>. */
static void take_solution(struct host_state *h, int mode)
{
    const double *inner = h->gram[mode] + h->rank * h->rank;
    h->inner = h->inner_size = 0.0;
    for (uint64_t r = 0; r < h->rank; r++) {
        h->scale[mode][r] = 1.0 / h->column[r];
        double term = inner[r] * h->row[r] * h->scale[mode][r];
        h->inner += term;
        h->inner_size += fabs(term);
    }
    host_state_scale_gram(h, mode, h->scale[mode]);
}

static enum status solve(struct host_state *h, int mode, struct error *error)
{
    struct host_solver s;
    hadamard(h, mode);
    for (uint64_t r = 0; r < h->rank; r++)
        h->v[r * h->rank + r] += h->rules.ridge[mode];
    host_state_scale_of_m(h, mode);
    expect_norms(h, h->column);
    if (create_solver(h, mode, &s, error) != STATUS_OK)
        return error_prefix(error, "mode %d: ", mode + 1);

    /* the factor and M of the longest mode are equally long: they are swapped */
    bool swap = !s.is_nonneg && h->shape.dims[mode] == h->longest;
    void *a = swap ? h->m : h->factor[mode];
    host_state_changed(h, mode);
    if (solve_rows(h, mode, &s, a, error) != STATUS_OK)
        goto done;
    if (swap) {
        h->m = h->factor[mode];
        h->factor[mode] = a;
    }
    take_solution(h, mode);
    h->weights_fit = true;
done:
    host_solver_free(&s);
    return error->status;
}

/* Multiplies the scales into the rows. Of floats, only by the power of two in each: so nothing is
 * rounded, and the Gram stays that of the rows as they stand. */
static void scale_rows(struct host_state *h, int mode)
{
    double *scale = h->scale[mode], *in_rows = h->column;
    for (uint64_t r = 0; r < h->rank; r++) {
        bool part = h->sweep.precision == PRECISION_SINGLE && scale[r] > 0.0;
        in_rows[r] = part ? ldexp(1.0, ilogb(scale[r])) : scale[r];
        scale[r] = part ? scale[r] / in_rows[r] : 1.0;
    }
    host_state_changed(h, mode);
    host_dense_scale_columns(h->factor[mode], h->shape.dims[mode], h->rank, h->sweep.precision,
                             in_rows);
}

/* The squared norms stand on the diagonal of the Gram. Usually only the scales change. Where a norm
 * is so far from the expected one that products of scales could overflow, or the factor matrix is
 * small, the rows themselves are scaled. */
static enum status normalise(struct host_state *h, int mode, struct error *error)
{
    const double far = h->sweep.precision == PRECISION_SINGLE ? FAR_SINGLE : FAR;
    double *gram = h->gram[mode], *scale = h->scale[mode];
    bool near =
        h->ranks->part.whole.dims[mode] * h->rank > FEW_ENTRIES; /* the same on every rank */
    for (uint64_t r = 0; r < h->rank; r++) {
        double norm_sq = gram[r * h->rank + r];
        if (!isfinite(norm_sq))
            return error_set(error, STATUS_NUMERICAL,
                             "mode %d: the squared norm of column %llu is %g", mode + 1,
                             (unsigned long long)r + 1, norm_sq);
        h->lambda[r] = sqrt(norm_sq);
        h->row[r] = h->lambda[r] > 0.0 ? 1.0 / h->lambda[r] : 0.0;
        scale[r] *= h->row[r];
        near = near && scale[r] > 1.0 / far && scale[r] < far;
    }
    host_state_scale_gram(h, mode, h->row);
    if (!near)
        scale_rows(h, mode);
    return STATUS_OK;
}

/* The solve makes the Gram along with the factor; normalise scales both. */
enum status host_state_update(void *state, int mode, struct error *error)
{
    if (solve(state, mode, error) != STATUS_OK)
        return error->status;
    return normalise(state, mode, error);
}

/* h->inner = <X, model> = sum_ir M(i,r) A(i,r), for the A that solve made, before normalise. */
enum status host_state_fit(void *state, int mode, const struct momentum *m,
                           struct backend_fit *value, struct error *error)
{
    struct host_state *h = state;
    struct fit_terms terms = {
        .norm_sq = h->norm_sq,
        .inner = h->inner,
        .inner_size = h->inner_size,
        .epsilon = backend_fit_epsilon(h->ranks->part.whole.dims[mode], h->sweep.precision)};
    hadamard(h, -1);
    for (uint64_t i = 0; i < h->rank; i++)
        for (uint64_t j = 0; j < h->rank; j++) {
            double term = h->v[i * h->rank + j] * h->lambda[i] * h->lambda[j];
            terms.model_sq += term;
            terms.model_size += fabs(term);
        }
    for (uint64_t i = 0; i < h->rank; i++)
        terms.penalty += h->rules.ridge[mode] * h->lambda[i] * h->lambda[i];
    if (backend_fit_of(value, &terms, mode + 1, error) != STATUS_OK)
        return error->status;
    backend_fit_decide(value, m);
    return STATUS_OK;
}

enum status host_state_residual(void *state, struct backend_residual *r, struct error *error)
{
    struct host_state *h = state;
    r->norm_sq = h->norm_sq;
    for (uint64_t i = 0; i < h->rank; i++) {
        r->weight[i] = h->lambda[i];
        for (int n = 0; n < h->shape.order; n++)
            r->weight[i] *= h->scale[n][i];
    }
    for (int n = 0; n < h->shape.order; n++) {
        const struct mode_rows *rows = &h->ranks->mode[n];
        const void *own = host_state_row(h, h->factor[n], rows->first);
        if (host_residual_gram(own, rows->count, h->rank, h->sweep.precision, r->gram[n], error) !=
            STATUS_OK)
            return error->status;
    }
    if (!h->is_empty)
        r->nonzeros = host_residual_nonzeros(&h->sweep, h->factor, r->weight);
    return STATUS_OK;
}
