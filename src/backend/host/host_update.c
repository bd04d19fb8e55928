/* The steps of an iteration on the host. */
#include "backend/host/host_state.h"

#include <math.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_dense_inverse.h"
#include "backend/host/host_entries.h"
#include "backend/host/host_nonneg.h"
#include "backend/host/host_ranks.h"
#include "backend/host/host_residual.h"
#include "backend/host/host_row_update.h"

#define FAR         256.0 /* the largest scale: those of 16 modes multiply to 2^128 at most ... */
#define FAR_SINGLE  16.0  /* ... or to 2^64, where their products are floats                */
#define FEW_ENTRIES 4096  /* of a factor matrix: scaling so few costs nothing              */

enum status host_state_mttkrp(void *state, int mode, struct error *error)
{
    struct host_state *h = state;
    const struct host_model *model = &h->model;
    const struct host_rows factors = host_model_rows(model);
    if (h->by_rows)
        return host_row_update_solve(h, mode, error);
    if (h->built.nnz == 0)
        host_entries_zero(h->solve.m, model->shape.dims[mode] * model->rank, model->precision);
    else
        host_sweep_mttkrp(&h->sweep, mode, &factors, h->solve.m);
    return STATUS_OK;
}

/* Makes the rows of a factor matrix from those of M: by V^+, or, for a nonnegative matrix, by HALS.
 */
struct row_solver {
    bool is_nonneg;                    /* which of the two is used  */
    struct host_dense_inverse inverse; /* owned                     */
    struct host_nonneg nonneg;         /* owned                     */
};

/* From V in h->solve.v, which is destroyed, with h->solve.row and .column as scales. *s is empty on
 * failure. */
static enum status create_solver(struct host_state *h, int mode, struct row_solver *s,
                                 struct error *error)
{
    const struct host_model *model = &h->model;
    const struct host_nonneg_start start = {.v = h->solve.v,
                                            .m = h->solve.row,
                                            .a = model->factor[mode].scale,
                                            .lambda = model->lambda,
                                            .out = h->solve.column,
                                            .rows = h->ranks->part.whole.dims[mode],
                                            .fit_rows = !model->weights_fit,
                                            .precision = model->precision};
    *s = (struct row_solver){.is_nonneg = h->problem->asked->rules.nonneg[mode]};
    if (s->is_nonneg)
        return host_nonneg_create(&s->nonneg, &start, model->rank, error);
    TRY(host_dense_inverse_create(&s->inverse, h->solve.v, model->rank, model->precision, error));
    host_dense_inverse_scale(&s->inverse, h->solve.row, h->solve.column);
    return STATUS_OK;
}

/* a = what the solver makes of M, its Gram and, after the Gram, its columns' products with M's:
 * each rank solves some rows of the sum of all M, and gathers the others. */
static enum status solve_rows(struct host_state *h, int mode, const struct row_solver *s, void *a,
                              struct error *error)
{
    const struct host_model *model = &h->model;
    const struct mode_rows *rows = &h->ranks->mode[mode];
    const struct host_dense_rows own = {.m = host_model_row(model, h->solve.m, rows->first),
                                        .a = host_model_row(model, a, rows->first),
                                        .rows = rows->count,
                                        .precision = model->precision};
    uint64_t square = model->rank * model->rank;
    double *gram = model->factor[mode].gram, *inner = gram + square;
    TRY(host_ranks_reduce_scatter(h, mode, h->solve.m, error));
    if (s->is_nonneg)
        TRY(host_dense_update_nonneg(&s->nonneg, &own, gram, inner, error));
    else
        TRY(host_dense_update(&s->inverse, &own, gram, inner, error));
    TRY(comm_allreduce_sum(h->ranks->all, gram, square + model->rank, error));
    return host_ranks_allgather(h, mode, a, error);
}

/* From what solve_rows has left: scales, the Gram of the scaled columns, and <X, model>. */
static void take_solution(struct host_model *model, int mode, struct host_solve *s)
{
    const struct host_factor *f = &model->factor[mode];
    const double *inner = f->gram + model->rank * model->rank;
    s->inner = s->inner_size = 0.0;
    for (uint64_t r = 0; r < model->rank; r++) {
        f->scale[r] = 1.0 / s->column[r];
        double term = inner[r] * s->row[r] * f->scale[r];
        s->inner += term;
        s->inner_size += fabs(term);
    }
    host_model_scale_gram(model, mode, f->scale);
}

static enum status solve(struct host_state *h, int mode, struct error *error)
{
    struct host_model *model = &h->model;
    struct host_solve *s = &h->solve;
    struct host_factor *f = &model->factor[mode];
    const double ridge = h->problem->asked->rules.ridge[mode];
    struct row_solver solver;
    host_model_hadamard(model, mode, s->v);
    for (uint64_t r = 0; r < model->rank; r++)
        s->v[r * model->rank + r] += ridge;
    host_model_scale_of_m(model, mode, s->row);
    host_model_expected_norms(model, s->column);
    if (create_solver(h, mode, &solver, error) != STATUS_OK)
        return error_prefix(error, "mode %d: ", mode + 1);

    if (!solver.is_nonneg)
        s->reciprocal = fmin(s->reciprocal, solver.inverse.reciprocal);

    /* the factor and M of the longest mode are equally long: they are swapped */
    bool swap = !solver.is_nonneg && model->shape.dims[mode] == shape_longest(&model->shape);
    void *a = swap ? s->m : f->entries;
    host_sweep_changed(&h->sweep, mode);
    TRY_OR(done, solve_rows(h, mode, &solver, a, error));
    if (swap) {
        s->m = f->entries;
        f->entries = a;
    }
    take_solution(model, mode, s);
    model->weights_fit = true;
done:
    host_dense_inverse_free(&solver.inverse);
    host_nonneg_free(&solver.nonneg);
    return error->status;
}

/* Multiplies the scales into the rows. Of floats, only by the power of two in each: so nothing is
 * rounded, and the Gram stays that of the rows as they stand. */
static void scale_rows(struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    const struct host_factor *f = &model->factor[mode];
    double *scale = f->scale, *in_rows = h->solve.column;
    for (uint64_t r = 0; r < model->rank; r++) {
        bool part = model->precision == PRECISION_SINGLE && scale[r] > 0.0;
        in_rows[r] = part ? ldexp(1.0, ilogb(scale[r])) : scale[r];
        scale[r] = part ? scale[r] / in_rows[r] : 1.0;
    }
    host_sweep_changed(&h->sweep, mode);
    host_dense_scale_columns(f->entries, model->shape.dims[mode], model->rank, model->precision,
                             in_rows);
}

/* The squared norms stand on the diagonal of the Gram. Usually only the scales change. Where a norm
 * is so far from the expected one that products of scales could overflow, or the factor matrix is
 * small, the rows themselves are scaled. */
static enum status normalise(struct host_state *h, int mode, struct error *error)
{
    struct host_model *model = &h->model;
    const uint64_t rank = model->rank;
    const double far = model->precision == PRECISION_SINGLE ? FAR_SINGLE : FAR;
    const double *gram = model->factor[mode].gram;
    double *scale = model->factor[mode].scale, *row = h->solve.row;
    bool near = h->ranks->part.whole.dims[mode] * rank > FEW_ENTRIES; /* the same on every rank */
    for (uint64_t r = 0; r < rank; r++) {
        double norm_sq = gram[r * rank + r];
        if (!isfinite(norm_sq))
            return error_set(error, STATUS_NUMERICAL,
                             "mode %d: the squared norm of column %llu is %g", mode + 1,
                             (unsigned long long)r + 1, norm_sq);
        model->lambda[r] = h->rates ? model->factor[mode].sum[r] : sqrt(norm_sq);
        row[r] = model->lambda[r] > 0.0 ? 1.0 / model->lambda[r] : 0.0;
        scale[r] *= row[r];
        model->factor[mode].sum[r] = row[r] > 0;
        near = near && scale[r] > 1.0 / far && scale[r] < far;
    }
    host_model_scale_gram(model, mode, row);
    if (!near)
        scale_rows(h, mode);
    return STATUS_OK;
}

/* The solve makes the Gram along with the factor; normalise scales both. */
enum status host_state_update(void *state, int mode, struct error *error)
{
    struct host_state *h = state;
    if (h->by_rows)
        host_row_update_take(h, mode, error);
    else
        solve(h, mode, error);
    return error->status == STATUS_OK ? normalise(h, mode, error) : error->status;
}

/* h->solve.inner = <X, model> = sum_ir M(i,r) A(i,r), for the A that solve made, before normalise.
 */
enum status host_state_fit(void *state, int mode, const struct momentum *m,
                           struct backend_fit *value, struct error *error)
{
    struct host_state *h = state;
    if (h->rates) {
        TRY(host_row_update_fit_counts(h, mode, value, error));
        backend_fit_decide(value, m);
        return STATUS_OK;
    }
    const uint64_t rank = h->model.rank;
    const double *lambda = h->model.lambda;
    struct fit_terms terms = {
        .norm_sq = h->norm_sq,
        .inner = h->solve.inner,
        .inner_size = h->solve.inner_size,
        .epsilon = backend_fit_epsilon(h->ranks->part.whole.dims[mode], h->model.precision)};
    host_model_hadamard(&h->model, -1, h->solve.v);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++) {
            double term = h->solve.v[i * rank + j] * lambda[i] * lambda[j];
            terms.model_sq += term;
            terms.model_size += fabs(term);
        }
    terms.penalty = backend_penalty_of(h->problem, mode, lambda, h->systems.totals.penalty);
    struct fit_squares squares = fit_squares_of(&terms);
    if (h->by_rows)
        host_row_update_squares(h, mode, terms.model_sq, terms.model_size, &squares);
    TRY(backend_fit_of(value, &squares, mode + 1, error));
    value->reciprocal = h->solve.reciprocal;
    h->solve.reciprocal = 1;
    backend_fit_decide(value, m);
    return STATUS_OK;
}

enum status host_state_residual(void *state, struct backend_residual *r, struct error *error)
{
    const struct host_state *h = state;
    const struct host_model *model = &h->model;
    const struct host_rows factors = host_model_rows(model);
    r->norm_sq = h->norm_sq;
    for (uint64_t i = 0; i < model->rank; i++) {
        r->weight[i] = model->lambda[i];
        for (int n = 0; n < model->shape.order; n++)
            r->weight[i] *= model->factor[n].scale[i];
    }
    for (int n = 0; n < model->shape.order; n++) {
        const struct mode_rows *rows = &h->ranks->mode[n];
        const void *own = host_model_row(model, model->factor[n].entries, rows->first);
        TRY(host_residual_gram(own, rows->count, model->rank, model->precision, r->gram[n], error));
    }
    r->unlisted = h->problem->count.weight;
    r->nonzeros = host_residual_nonzeros(&h->sweep, &factors, r->weight, r->unlisted);
    return STATUS_OK;
}
