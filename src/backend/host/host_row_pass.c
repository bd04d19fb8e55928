#include "backend/host/host_row_pass.h"

#include <math.h>

#include "backend/host/host_entries.h"
#include "numerics/poisson_term.h"

uint64_t host_row_pass_scratch(const struct host_row_pass *s)
{
    return host_state_counts(s->h) ? host_poisson_row_room(s->counts.rank, s->counts.solver)
                                   : host_row_solve_room(s->solve.rank, s->solve.ld);
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
                                     : ROW_RIDGE_LIMIT;
        s->ridge[r] = (x < ROW_RIDGE_LIMIT ? x : ROW_RIDGE_LIMIT) / (apart[r] * apart[r]);
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

/* Of row_whole, likewise. */
static void fill_cell(struct host_state *h, int mode, const double *apart)
{
    const struct host_model *model = &h->model;
    for (uint64_t r = 0; r < model->rank; r++) {
        double mean = 1;
        for (int n = 0; n < model->shape.order; n++)
            mean *= n == mode ? 1
                              : model->factor[n].gram[r * model->rank + r] /
                                    (double)h->ranks->part.whole.dims[n];
        h->systems.cell[r] = mean / (apart[r] * apart[r]);
    }
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
    fill_cell(h, mode, apart);
    if (s->count.weight != 0)
        fill_common(h, mode, apart);
    return (struct host_row_pass){.h = h,
                                  .solve = {.rank = model->rank,
                                            .ld = host_system_ld(model->rank),
                                            .v = s->count.weight != 0 ? s->v : NULL,
                                            .ridge = s->ridge,
                                            .cell = s->cell,
                                            .nonneg = h->rules.nonneg[mode]}};
}

/* Row `row` of h->solve.m = a, in the scale of the entries to be. */
static void put_row(const struct host_row_pass *s, uint64_t row, const double *a)
{
    const struct host_model *model = &s->h->model;
    host_entries_write(host_model_row(model, s->h->solve.m, row), a, model->rank, model->precision);
}

/* Takes the answer to the system of a row, a. */
static void take_squares(const struct host_row_pass *s, uint64_t row, const double *number,
                         const struct host_row_system *x, double *a, struct host_row_totals *totals)
{
    totals->misfit += number[SYSTEM_MISFIT] + x->change;
    totals->size += number[SYSTEM_SIZE] + fabs(x->change);
    for (uint64_t r = 0; r < s->h->model.rank; r++) {
        if (s->h->systems.ridge_scale == RIDGE_COUNTED)
            totals->penalty += number[SYSTEM_KNOWN] * s->solve.ridge[r] * a[r] * a[r];
        a[r] *= s->h->systems.out[r];
    }
    put_row(s, row, a);
}

/* Solves rows from their whole systems. A row without known entries is zero, and so it is already,
 * whatever unlisted ones weigh: its least misfit is 0. */
static void solve_squares(const struct host_row_pass *s, const struct host_system_rows *rows,
                          double *scratch, struct host_row_totals *totals)
{
    const bool counted = s->h->systems.ridge_scale == RIDGE_COUNTED;
    struct host_row_system x[HOST_ROWS_MOST] = {0};
    double *a[HOST_ROWS_MOST] = {0};
    uint64_t of[HOST_ROWS_MOST] = {0}, count = 0;
    for (uint64_t l = 0; l < rows->count; l++) {
        const struct host_system *system = &rows->system[l];
        const double known = system->number[SYSTEM_KNOWN];
        if (known == 0)
            continue;
        x[count] =
            (struct host_row_system){.b = system->b, .g = system->g, .ridge = counted ? known : 1};
        a[count] = rows->a[l];
        of[count++] = l;
    }
    host_rows_solve(&s->solve, x, count, a, scratch);
    for (uint64_t k = 0; k < count; k++)
        take_squares(s, rows->row[of[k]], rows->system[of[k]].number, &x[k], a[k], totals);
}

/* The same of counts. A row without counts is zero. */
static void improve_counts(const struct host_row_pass *s, const struct host_system_rows *rows,
                           double *scratch, struct host_row_totals *totals)
{
    const double floor =
        s->h->model.precision == PRECISION_SINGLE ? POISSON_FLOOR_SINGLE : POISSON_FLOOR;
    struct host_poisson_row x[HOST_ROWS_MOST] = {0};
    double *a[HOST_ROWS_MOST] = {0};
    uint64_t row[HOST_ROWS_MOST], count = 0;
    for (uint64_t l = 0; l < rows->count; l++) {
        const struct host_system *system = &rows->system[l];
        if (system->number[SYSTEM_LEAST] == 0)
            continue;
        x[count] = (struct host_poisson_row){.b = system->b,
                                             .q = system->q,
                                             .g = system->g,
                                             .factor = system->factor,
                                             .known = system->number[SYSTEM_KNOWN],
                                             .least = system->number[SYSTEM_LEAST]};
        a[count] = rows->a[l];
        row[count++] = rows->row[l];
    }
    const double violation = host_poisson_rows_improve(&s->counts, x, count, a, scratch);
    totals->violation = fmax(totals->violation, violation);
    for (uint64_t k = 0; k < count; k++) {
        for (uint64_t r = 0; r < s->h->model.rank; r++) {
            a[k][r] *= s->h->systems.out[r];
            a[k][r] = a[k][r] < floor ? floor : a[k][r]; /* a NaN stays */
        }
        put_row(s, row[k], a[k]);
    }
}

void host_row_pass_solve(void *context, const struct host_system_rows *rows, double *scratch,
                         struct host_row_totals *totals)
{
    const struct host_row_pass *s = context;
    if (host_state_counts(s->h))
        improve_counts(s, rows, scratch, totals);
    else
        solve_squares(s, rows, scratch, totals);
}

/* The most nonzeros of a row that takes the diagonal step, which needs no G. */
static uint64_t short_rows(const struct host_row_systems *s, uint64_t rank)
{
    const bool newton = s->loss == LOSS_POISSON && s->solver == SOLVER_NEWTON;
    return newton ? (uint64_t)poisson_short_rows(rank) : 0;
}

uint64_t host_row_pass_rows(const struct host_row_pass *s)
{
    return host_row_pass_has_matrix(&s->h->systems) ? host_rows_kernels(s->h->model.rank)->rows : 1;
}

struct host_systems host_row_pass_systems(struct host_row_pass *s, int mode,
                                          const struct host_rows *factors, host_system_sink *sink)
{
    const struct host_row_systems *systems = &s->h->systems;
    return (struct host_systems){
        .slices = &s->h->sweep.ordered[mode],
        .factors = factors,
        .now = systems->now,
        .loss = systems->loss,
        .matrix = host_row_pass_has_matrix(systems),
        .unlisted = systems->count.weight,
        .weighed = systems->weighed,
        .sink = sink,
        .context = s,
        .factor = sink == host_row_pass_solve ? short_rows(systems, s->h->model.rank) : 0,
        .rows = host_row_pass_rows(s),
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
    if (x.slices->nnz == 0)
        return STATUS_OK;
    return host_systems_sum(&x, slice_from(x.slices, first), slice_from(x.slices, last),
                            &h->systems.totals, error);
}
