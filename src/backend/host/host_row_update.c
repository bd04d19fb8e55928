#include "backend/host/host_row_update.h"

#include <math.h>
#include <string.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_entries.h"
#include "backend/host/host_ranks.h"
#include "backend/host/host_row_common.h"
#include "base/memory.h"
#include "numerics/poisson_term.h"

enum status host_row_systems_create(struct host_row_systems *s, const struct host_model *model,
                                    struct error *error)
{
    const uint64_t rank = model->rank, ld = host_system_ld(rank);
    s->v = memory_zeros(rank, ld * sizeof *s->v, error);
    s->ridge = memory_array(rank, sizeof *s->ridge, error);
    s->now = memory_array(rank, sizeof *s->now, error);
    s->out = memory_array(rank, sizeof *s->out, error);
    s->cell = memory_array(rank, sizeof *s->cell, error);
    s->apart = memory_array(rank, sizeof *s->apart, error);
    s->common = memory_array(rank, sizeof *s->common, error);
    return error->status;
}

void host_row_systems_free(struct host_row_systems *s)
{
    memory_free(s->v);
    memory_free(s->ridge);
    memory_free(s->now);
    memory_free(s->out);
    memory_free(s->cell);
    memory_free(s->apart);
    memory_free(s->common);
}

/* Rows whose nonzeros this rank has; all, where it is alone. */
static enum status solve_own(struct host_row_pass *s, int mode, struct error *error)
{
    const struct mode_rows *rows = &s->h->ranks->mode[mode];
    const uint64_t common = mode_rows_common(rows, rows->peers->rank);
    return host_row_pass_sum(s, mode, host_row_pass_solve, rows->first + common,
                             rows->first + rows->count, error);
}

/* No step of counts leaves a zero, so that none may be there at the start: zeros of factor matrix n
 * become a small part of the mean of its columns, whose sums are then found anew. Rows that are
 * not there stay zero. */
static enum status lift_zeros(struct host_state *h, int n, struct error *error)
{
    const struct host_model *model = &h->model;
    const struct host_factor *f = &model->factor[n];
    const uint64_t rank = model->rank, *row = h->ranks->part.row[n];
    double *to = h->solve.column, *entry = h->solve.row;
    for (uint64_t r = 0; r < rank; r++)
        to[r] = POISSON_LIFT / (double)h->ranks->part.whole.dims[n] *
                (f->sum[r] > 0 ? f->sum[r] : 1) / f->scale[r];
    for (uint64_t i = 0; i < model->shape.dims[n]; i++) {
        void *at = host_model_row(model, f->entries, i);
        if (row && row[i] == NO_ROW)
            continue;
        host_entries_read(entry, at, rank, model->precision);
        for (uint64_t r = 0; r < rank; r++)
            entry[r] = entry[r] == 0 ? to[r] : entry[r];
        host_entries_write(at, entry, rank, model->precision);
    }
    host_sweep_changed(&h->sweep, n);
    return host_state_make_sums(h, n, error);
}

/* Unit columns, as they are after an update; the model stays. Fixed modes keep their lengths. */
static void scale_columns(struct host_state *h)
{
    struct host_model *model = &h->model;
    const uint64_t rank = model->rank;
    double *inverse = h->solve.row;
    for (int n = 0; n < model->shape.order; n++) {
        const struct host_factor *f = &model->factor[n];
        for (uint64_t r = 0; r < rank; r++) {
            const double of = host_state_counts(h) ? f->sum[r] : sqrt(f->gram[r * rank + r]);
            const double norm = h->rules.fixed[n] ? 1 : of;
            inverse[r] = norm > 0 ? 1 / norm : 1;
            f->scale[r] *= inverse[r];
            f->sum[r] = h->rules.fixed[n] ? f->sum[r] : of > 0;
            model->lambda[r] /= inverse[r];
        }
        host_model_scale_gram(model, n, inverse);
    }
}

/* *sums over the nonzeros of all ranks, of the model as it stands. */
static enum status sum_values(struct host_row_pass *s, int mode, struct host_value_sums *sums,
                              struct error *error)
{
    struct host_state *h = s->h;
    const struct host_rows factors = host_model_rows(&h->model);
    const struct host_systems x = host_row_pass_systems(s, mode, &factors, NULL);
    *sums = (struct host_value_sums){0};
    if (x.slices->nnz > 0)
        TRY(host_systems_values(&x, sums, error));
    double of[] = {sums->model_sq, sums->model, sums->misfit};
    TRY(comm_allreduce_sum(h->ranks->all, of, 3, error));
    *sums = (struct host_value_sums){of[0], of[1], of[2]};
    return STATUS_OK;
}

/* h times the sum of the model's rates in all cells. */
static double mass(const struct host_state *h)
{
    const struct host_model *model = &h->model;
    double sum = 0;
    for (uint64_t r = 0; r < model->rank; r++) {
        double of = model->lambda[r];
        for (int n = 0; n < model->shape.order; n++)
            of *= model->factor[n].sum[r];
        sum += of;
    }
    return h->systems.count.weight * sum;
}

/* The weights of a model that was only loaded say nothing of its size: lambda is multiplied so that
 * the model's listed entries have the norm of the tensor's; of counts, so that the entries that
 * count have their total. */
static enum status fit_weights(struct host_state *h, int mode, struct error *error)
{
    for (int n = 0; host_state_counts(h) && n < h->model.shape.order; n++)
        if (!h->rules.fixed[n] && lift_zeros(h, n, error) != STATUS_OK)
            return error->status;
    scale_columns(h);
    struct host_row_pass s = host_row_pass_begin(h, mode);
    struct host_model *model = &h->model;
    struct host_value_sums sums;
    TRY(sum_values(&s, mode, &sums, error));
    const double scale = host_state_counts(h) ? h->systems.null.total / (mass(h) + sums.model)
                                              : sqrt(h->norm_sq / sums.model_sq);
    for (uint64_t r = 0; isfinite(scale) && r < model->rank; r++)
        model->lambda[r] *= scale;
    model->weights_fit = true;
    return STATUS_OK;
}

/* The largest of all ranks' x. */
static enum status largest_of_ranks(struct comm *c, double *x, struct error *error)
{
    double *all = memory_array((size_t)c->size, sizeof *all, error);
    if (!all)
        return error->status;
    TRY_OR(done, comm_allgather(c, x, sizeof *x, all, error));
    for (int k = 0; k < c->size; k++)
        *x = fmax(*x, all[k]);
done:
    memory_free(all);
    return error->status;
}

enum status host_row_update_solve(struct host_state *h, int mode, struct error *error)
{
    const struct host_model *model = &h->model;
    if (!model->weights_fit)
        TRY(fit_weights(h, mode, error));
    struct host_row_pass s = host_row_pass_begin(h, mode);
    struct host_row_totals *totals = &h->systems.totals;
    *totals = (struct host_row_totals){0};
    host_entries_zero(h->solve.m, model->shape.dims[mode] * model->rank, model->precision);
    if (h->ranks->mode[mode].common > 0)
        TRY(host_row_common_solve(&s, mode, error));
    TRY(solve_own(&s, mode, error));
    double sums[] = {totals->misfit, totals->size, totals->penalty};
    TRY(comm_allreduce_sum(h->ranks->all, sums, 3, error));
    *totals = (struct host_row_totals){sums[0], sums[1], sums[2], totals->violation};
    if (!host_state_counts(h))
        return STATUS_OK;
    h->systems.violation[mode] = totals->violation;
    return largest_of_ranks(h->ranks->all, &h->systems.violation[mode], error);
}

enum status host_row_update_take(struct host_state *h, int mode, struct error *error)
{
    struct host_model *model = &h->model;
    struct host_factor *f = &model->factor[mode];
    const uint64_t rank = model->rank, rows = model->shape.dims[mode];
    void *made = h->solve.m;
    if (rows == shape_longest(&model->shape)) {
        h->solve.m = f->entries;
        f->entries = made;
    } else {
        memory_copy(f->entries, made, rows * rank * precision_bytes(model->precision));
    }
    host_sweep_changed(&h->sweep, mode);
    TRY(host_ranks_allgather(h, mode, f->entries, error));
    TRY(host_state_make_gram(h, mode, error));
    for (uint64_t r = 0; r < rank; r++)
        f->scale[r] = 1 / h->solve.column[r];
    host_model_scale_gram(model, mode, f->scale);
    return host_state_counts(h) ? host_state_make_sums(h, mode, error) : STATUS_OK;
}

/* What the ridge adds to the misfit. */
static double penalty(const struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    const struct host_row_systems *s = &h->systems;
    const int order = model->shape.order;
    double sum = 0, ridge = 0;
    if (s->ridge_scale == RIDGE_COUNTED)
        return s->totals.penalty;
    for (int n = 0; n < order; n++)
        ridge += h->rules.ridge[n];
    for (uint64_t r = 0; r < model->rank; r++)
        sum += s->ridge_scale == RIDGE_BALANCED ? pow(model->lambda[r], 2.0 / order)
                                                : model->lambda[r] * model->lambda[r];
    return s->count.ridge * sum *
           (s->ridge_scale == RIDGE_BALANCED ? ridge * s->balance : h->rules.ridge[mode]);
}

void host_row_update_squares(const struct host_state *h, int mode, double model_sq,
                             double model_size, struct fit_squares *s)
{
    const struct host_row_totals *t = &h->systems.totals;
    const double weight = h->systems.count.weight;
    const double epsilon = backend_fit_epsilon(h->ranks->part.whole.dims[mode], h->model.precision);
    s->norm_sq = h->norm_sq;
    s->components_sq = h->systems.listed * model_size;
    s->residual_sq = t->misfit + weight * model_sq;
    s->noise_sq = fit_noise_of_rows(s, t->size, weight, model_size, epsilon);
    s->penalty = penalty(h, mode);
}

enum status host_row_update_fit_counts(struct host_state *h, int mode, struct backend_fit *fit,
                                       struct error *error)
{
    struct host_value_sums sums;
    const double all = mass(h), null = h->systems.null.deviance;
    struct host_row_pass s = host_row_pass_begin(h, mode);
    TRY(sum_values(&s, mode, &sums, error));
    TRY(backend_fit_of_counts(fit, sums.misfit + all, null, all, mode + 1, error));
    for (int n = 0; n < h->model.shape.order; n++)
        fit->violation = fmax(fit->violation, h->rules.fixed[n] ? 0 : h->systems.violation[n]);
    return STATUS_OK;
}
