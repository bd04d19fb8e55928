#include "backend/host/host_row_pass.h"

#include <math.h>

#include "backend/host/host_entries.h"
#include "numerics/poisson_term.h"

#define RIDGE_LIMIT 1e200 /* of a component that has become zero, which stays so */

uint64_t host_row_pass_scratch(const struct host_row_pass *s)
{
    return host_state_counts(s->h) ? host_poisson_row_room(s->counts.ld, s->counts.solver)
                                   : host_row_solve_room(s->solve.ld);
}

bool host_row_pass_has_matrix(const struct host_row_systems *s)
{
    return s->loss == LOSS_SQUARES || s->solver == SOLVER_NEWTON;
}

/* The ridge of each component, for rows in units of h->systems.now: `apart` (R) is by how much the
 * entries' columns are longer than those of the model. */
static void fill_ridge(struct host_state *h, int mode, const double *apart)
{
    const struct host_row_systems *s = &h->systems;
    const struct host_model *model = &h->model;
    const double power = 2.0 * (model->shape.order - 1) / model->shape.order;
    const double ridge = h->rules.ridge[mode] * s->count.ridge;
    for (uint64_t r = 0; r < model->rank; r++) {
        double x = ridge;
        if (ridge > 0 && s->ridge_scale == RIDGE_BALANCED)
            x = model->lambda[r] > 0 ? ridge * s->balance * pow(model->lambda[r], -power)
                                     : RIDGE_LIMIT;
        s->ridge[r] = (x < RIDGE_LIMIT ? x : RIDGE_LIMIT) / (apart[r] * apart[r]);
    }
}

/* h V, for products of entries instead of those of the model's columns. */
static void fill_common(struct host_state *h, int mode, const double *apart)
{
    const uint64_t rank = h->model.rank, ld = host_system_ld(rank);
    host_model_hadamard(&h->model, mode, h->solve.v);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            h->systems.v[i * ld + j] =
                h->systems.count.weight * h->solve.v[i * rank + j] / (apart[i] * apart[j]);
}

/* Fills h->systems.apart and .common. */
static struct host_poisson_rows begin_counts(struct host_state *h, int mode, const double *apart)
{
    const struct host_model *model = &h->model;
    const struct host_row_systems *s = &h->systems;
    for (uint64_t r = 0; r < model->rank; r++) {
        s->apart[r] = apart[r];
        s->common[r] = s->count.weight / apart[r];
        for (int n = 0; n < model->shape.order; n++)
            s->common[r] *= n == mode ? 1 : model->factor[n].sum[r];
    }
    return (struct host_poisson_rows){.rank = model->rank,
                                      .ld = host_system_ld(model->rank),
                                      .solver = s->solver,
                                      .common = s->common,
                                      .unit = s->apart,
                                      .count = s->of_count};
}

struct host_row_pass host_row_pass_begin(struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    const struct host_row_systems *s = &h->systems;
    const double *scale = model->factor[mode].scale;
    double *apart = h->solve.row, *column = h->solve.column;
    host_model_scale_of_m(model, mode, apart);
    host_model_expected_norms(model, column);
    for (uint64_t r = 0; r < model->rank; r++) {
        s->now[r] = model->lambda[r] * scale[r] * apart[r];
        s->out[r] = column[r] / apart[r];
    }
    if (host_state_counts(h))
        return (struct host_row_pass){.h = h, .counts = begin_counts(h, mode, apart)};
    fill_ridge(h, mode, apart);
    if (s->count.weight != 0)
        fill_common(h, mode, apart);
    return (struct host_row_pass){.h = h,
                                  .solve = {.rank = model->rank,
                                            .ld = host_system_ld(model->rank),
                                            .v = s->count.weight != 0 ? s->v : NULL,
                                            .ridge = s->ridge,
                                            .nonneg = h->rules.nonneg[mode]}};
}

/* Row `row` of h->solve.m = a, in the scale of the entries to be. */
static void put_row(const struct host_row_pass *s, uint64_t row, const double *a)
{
    const struct host_model *model = &s->h->model;
    host_entries_write(host_model_row(model, s->h->solve.m, s->to + (row - s->from)), a,
                       model->rank, model->precision);
}

/* Solves a row from its whole system. A row without known entries is zero, and so it is already. */
static void solve_squares(const struct host_row_pass *s, uint64_t row,
                          const struct host_system *system, double *a, double *scratch,
                          struct host_row_totals *totals)
{
    const double known = system->number[SYSTEM_KNOWN];
    const bool counted = s->h->systems.ridge_scale == RIDGE_COUNTED;
    if (known == 0 && !s->solve.v)
        return;
    const struct host_row_system x = {.b = system->b, .g = system->g, .ridge = counted ? known : 1};
    const double change = host_row_solve(&s->solve, &x, a, scratch);
    totals->misfit += system->number[SYSTEM_MISFIT] + change;
    totals->size += system->number[SYSTEM_SIZE] + fabs(change);
    for (uint64_t r = 0; r < s->h->model.rank; r++) {
        if (counted)
            totals->penalty += known * s->solve.ridge[r] * a[r] * a[r];
        a[r] *= s->h->systems.out[r];
    }
    put_row(s, row, a);
}

/* The same of counts. A row without counts is zero. */
static void improve_counts(const struct host_row_pass *s, uint64_t row,
                           const struct host_system *system, double *a, double *scratch,
                           struct host_row_totals *totals)
{
    const struct host_poisson_row x = {
        .b = system->b, .q = system->q, .g = system->g, .least = system->number[SYSTEM_LEAST]};
    const double floor =
        s->h->model.precision == PRECISION_SINGLE ? POISSON_FLOOR_SINGLE : POISSON_FLOOR;
    if (x.least == 0)
        return;
    const double violation = host_poisson_row_improve(&s->counts, &x, a, scratch);
    totals->violation = fmax(totals->violation, violation);
    for (uint64_t r = 0; r < s->h->model.rank; r++) {
        a[r] *= s->h->systems.out[r];
        a[r] = a[r] < floor ? floor : a[r]; /* a NaN stays */
    }
    put_row(s, row, a);
}

void host_row_pass_solve(void *context, uint64_t row, struct host_system *system, double *a,
                         double *scratch, struct host_row_totals *totals)
{
    const struct host_row_pass *s = context;
    if (host_state_counts(s->h))
        improve_counts(s, row, system, a, scratch, totals);
    else
        solve_squares(s, row, system, a, scratch, totals);
}

struct host_systems host_row_pass_systems(struct host_row_pass *s, int mode,
                                          const struct host_rows *factors, host_system_sink *sink)
{
    const struct host_row_systems *systems = &s->h->systems;
    return (struct host_systems){.slices = &s->h->sweep.ordered[mode],
                                 .factors = factors,
                                 .now = systems->now,
                                 .loss = systems->loss,
                                 .matrix = host_row_pass_has_matrix(systems),
                                 .unlisted = systems->count.weight,
                                 .weighed = systems->weighed,
                                 .sink = sink,
                                 .context = s,
                                 .scratch = host_row_pass_scratch(s)};
}

/* The first slice of rows `row` and later. */
static uint64_t slice_from(const struct host_slices *x, uint64_t row)
{
    uint64_t low = 0, high = x->count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (x->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum status host_row_pass_sum(struct host_row_pass *s, int mode, host_system_sink *sink,
                              uint64_t first, uint64_t last, struct error *error)
{
    struct host_state *h = s->h;
    const struct host_rows factors = host_model_rows(&h->model);
    const struct host_systems x = host_row_pass_systems(s, mode, &factors, sink);
    if (h->built.nnz == 0)
        return STATUS_OK;
    return host_systems_sum(&x, slice_from(x.slices, first), slice_from(x.slices, last),
                            &h->systems.totals, error);
}
