/* The steps of an iteration on the host. */
#include "backend/host/host_state.h"

#include <math.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_dense_inverse.h"
#include "backend/host/host_entries.h"
#include "backend/host/host_nonneg.h"
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
    if (h->by_rows && !h->terms.held)
        return host_row_update_solve(h, mode, error);
    if (h->by_rows ? h->sweep.ordered[mode].nnz == 0 : h->built.nnz == 0)
        host_entries_zero(h->solve.m, model->shape.dims[mode] * model->rank, model->precision);
    else
        host_sweep_mttkrp(&h->sweep, mode, &factors, h->solve.m);
    return STATUS_OK;
}

/* The factor matrix of `mode` from M, by V^+ or, where it is nonnegative, by HALS; its scales, the
 * Gram of the scaled columns, and <X, model>. Each rank solves some rows of the sum of all M, and
 * gathers the others. */
static enum status solve(struct host_state *h, int mode, struct error *error)
{
    struct host_model *model = &h->model;
    struct host_solve *s = &h->solve;
    struct host_factor *f = &model->factor[mode];
    const struct mode_rules *rules = &h->problem->asked->rules;
    const struct mode_rows *rows = &h->ranks->mode[mode];
    const uint64_t rank = model->rank;
    const bool is_nonneg = rules->nonneg[mode];
    double *inner = f->gram + rank * rank; /* of the columns with those of M */
    struct host_dense_inverse inverse = {0};
    struct host_nonneg nonneg = {0};
    host_model_hadamard(model, mode, s->v);
    for (uint64_t r = 0; r < rank; r++)
        s->v[r * rank + r] += rules->ridge[mode];
    host_model_scale_of_m(model, mode, s->row);
    host_model_expected_norms(model, s->column);
    if (is_nonneg) {
        const struct host_nonneg_start start = {.v = s->v,
                                                .m = s->row,
                                                .a = f->scale,
                                                .lambda = model->lambda,
                                                .out_scale = s->column,
                                                .rows = h->ranks->part.whole.dims[mode],
                                                .fit_rows = !model->weights_fit,
                                                .precision = model->precision};
        host_nonneg_create(&nonneg, &start, rank, error);
    } else if (host_dense_inverse_create(&inverse, s->v, rank, model->precision, error) ==
               STATUS_OK) {
        host_dense_inverse_scale(&inverse, s->row, s->column);
        s->reciprocal = fmin(s->reciprocal, inverse.reciprocal);
    }
    if (error->status != STATUS_OK)
        return error_prefix(error, "mode %d: ", mode + 1);

    /* the factor and M of the longest mode are equally long: they are swapped */
    const bool swap = !is_nonneg && model->shape.dims[mode] == shape_longest(&model->shape);
    void *a = swap ? s->m : f->entries;
    const struct host_dense_rows own = {.m = host_model_row(model, s->m, rows->first),
                                        .a = host_model_row(model, a, rows->first),
                                        .rows = rows->count,
                                        .precision = model->precision};
    sweep_changed(&h->sweep.sweep, mode);
    TRY_OR(done, host_ranks_reduce_scatter(h, mode, s->m, error));
    TRY_OR(done, host_dense_update(is_nonneg ? NULL : &inverse, is_nonneg ? &nonneg : NULL, &own,
                                   f->gram, inner, error));
    TRY_OR(done, comm_allreduce_sum(h->ranks->all, f->gram, rank * rank + rank, error));
    TRY_OR(done, host_ranks_allgather(h, mode, a, error));
    if (swap) {
        s->m = f->entries;
        f->entries = a;
    }
    s->inner = s->inner_size = 0.0;
    for (uint64_t r = 0; r < rank; r++) {
        f->scale[r] = 1.0 / s->column[r];
        const double term = inner[r] * s->row[r] * f->scale[r];
        s->inner += term;
        s->inner_size += fabs(term);
    }
    host_model_scale_gram(model, mode, f->scale);
    model->weights_fit = true;
done:
    host_dense_inverse_free(&inverse);
    host_nonneg_free(&nonneg);
    return error->status;
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
    if (near)
        return STATUS_OK;
    /* Of floats, rows take only the power of two in each scale: so nothing is rounded, and the Gram
     * stays that of the rows as they stand. */
    double *in_rows = h->solve.column;
    for (uint64_t r = 0; r < rank; r++) {
        const bool part = model->precision == PRECISION_SINGLE && scale[r] > 0.0;
        in_rows[r] = part ? ldexp(1.0, ilogb(scale[r])) : scale[r];
        scale[r] = part ? scale[r] / in_rows[r] : 1.0;
    }
    sweep_changed(&h->sweep.sweep, mode);
    host_dense_scale_columns(model->factor[mode].entries, model->shape.dims[mode], rank,
                             model->precision, in_rows);
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

/* weight (R) = what the products of the factor matrices' entries are multiplied by. */
static void weights_of_entries(const struct host_model *model, double *weight)
{
    for (uint64_t i = 0; i < model->rank; i++) {
        weight[i] = model->lambda[i];
        for (int n = 0; n < model->shape.order; n++)
            weight[i] *= model->factor[n].scale[i];
    }
}

enum status host_state_components(void *state, double *sum, struct error *error)
{
    const struct host_state *h = state;
    const struct host_rows factors = host_model_rows(&h->model);
    const struct host_residual_terms model = {
        .weight = h->solve.row, .unlisted = h->problem->count.weight, .rates = h->rates};
    struct double_double none = {0, 0};
    weights_of_entries(&h->model, h->solve.row);
    return host_residual_sum(&h->sweep, &factors, &model, &none, sum, error);
}

enum status host_state_residual(void *state, struct backend_residual *r, struct error *error)
{
    const struct host_state *h = state;
    const struct host_model *model = &h->model;
    const struct host_rows factors = host_model_rows(model);
    r->norm_sq = h->norm_sq;
    weights_of_entries(model, r->weight);
    for (int n = 0; n < model->shape.order; n++) {
        const struct mode_rows *rows = &h->ranks->mode[n];
        const void *own = host_model_row(model, model->factor[n].entries, rows->first);
        TRY(host_residual_gram(own, rows->count, model->rank, model->precision, r->gram[n], error));
    }
    r->unlisted = h->problem->count.weight;
    const struct host_residual_terms terms = {.weight = r->weight, .unlisted = r->unlisted};
    return host_residual_sum(&h->sweep, &factors, &terms, &r->nonzeros, NULL, error);
}
