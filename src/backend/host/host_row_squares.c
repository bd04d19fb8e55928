#include "backend/host/host_row_update.h"

#include <math.h>
#include <string.h>

#include "backend/host/host_entries.h"
#include "base/vector_clones.h"
#include "numerics/row_term.h"

uint64_t host_row_squares_begin(struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    struct host_row_systems *s = &h->systems;
    const uint64_t rank = s->rank, ld = s->ld;
    const double *m_scale = h->solve.row;
    for (uint64_t r = 0; r < rank; r++) {
        double mean = 1; /* of z^2 over all cells */
        for (int n = 0; n < model->shape.order; n++)
            mean *= n == mode ? 1
                              : model->factor[n].gram[r * rank + r] /
                                    (double)h->ranks->part.whole.dims[n];
        s->cell[r] = mean / (m_scale[r] * m_scale[r]);
        s->ridge[r] = row_ridge(&s->rules, model->lambda[r]) / (m_scale[r] * m_scale[r]);
    }
    s->common = s->rules.unlisted != 0 ? s->v : NULL;
    if (s->common) {
        host_model_hadamard(model, mode, h->solve.v);
        for (uint64_t i = 0; i < rank; i++)
            for (uint64_t j = 0; j < rank; j++)
                s->v[i * ld + j] =
                    s->rules.unlisted * h->solve.v[i * rank + j] / (m_scale[i] * m_scale[j]);
    }
    return host_rows_room_size(rank) + ld + ld * ld;
}

/* By what the common ridge is multiplied for a row. */
static double ridge_times(const struct host_row_systems *s, const struct host_system *x)
{
    return s->rules.counted ? x->number[SYSTEM_KNOWN] : 1;
}

/* h (R x ld) = G + h V + ridge, the upper triangle and the diagonal. */
static void fill_matrix(const struct host_row_systems *s, const struct host_system *x, double *h)
{
    const uint64_t ld = s->ld;
    const double times = ridge_times(s, x);
    for (uint64_t i = 0; i < s->rank; i++) {
        double *row = h + i * ld;
        memcpy(row + i, x->g + i * ld + i, (ld - i) * sizeof *row);
        for (uint64_t j = i; s->common && j < ld; j++)
            row[j] += s->common[i * ld + j];
        row[i] += times * s->ridge[i];
    }
}

/* q (ld) = b - h V a - ridge a. */
VECTOR_CLONES static void fill_gradient(const struct host_row_systems *s,
                                        const struct host_system *x, const double *a,
                                        double *restrict q)
{
    const uint64_t ld = s->ld;
    const double times = ridge_times(s, x);
    memcpy(q, x->b, ld * sizeof *q);
    for (uint64_t i = 0; i < s->rank; i++)
        q[i] -= times * s->ridge[i] * a[i];
    for (uint64_t i = 0; s->common && i < s->rank; i++)
        for (uint64_t j = 0; j < ld; j++)
            q[j] -= a[i] * s->common[i * ld + j];
}

static double whole_of(const struct host_row_systems *s, const struct host_system *x, uint64_t r)
{
    const double v = s->common ? s->common[r * s->ld + r] : 0;
    return row_whole(x->g[r * s->ld + r], v, ridge_times(s, x) * s->ridge[r], s->cell[r]);
}

/* H = U'U, in place; false where rounding has eaten a pivot. */
static bool factorise(const struct host_row_systems *s, const struct host_system *x, double *h)
{
    const uint64_t rank = s->rank, ld = s->ld;
    for (uint64_t k = 0; k < rank; k++) {
        double *row = h + k * ld;
        for (uint64_t i = 0; i < k; i++) {
            const double *above = h + i * ld, f = above[k];
            for (uint64_t j = k; j < ld; j++)
                row[j] -= f * above[j];
        }
        if (!(row[k] > ROW_SINGULAR * whole_of(s, x, k)))
            return false;
        const double scale = 1 / sqrt(row[k]);
        for (uint64_t j = k; j < ld; j++)
            row[j] *= scale;
    }
    return true;
}

/* q becomes the d of U'U d = q. */
static void substitute(const double *u, uint64_t rank, uint64_t ld, double *q)
{
    for (uint64_t k = 0; k < rank; k++) {
        const double *row = u + k * ld;
        q[k] /= row[k];
        for (uint64_t j = k + 1; j < rank; j++)
            q[j] -= q[k] * row[j];
    }
    for (uint64_t k = rank; k-- > 0;) {
        const double *row = u + k * ld;
        q[k] = (q[k] - host_inner(row + k + 1, q + k + 1, rank - k - 1)) / row[k];
    }
}

/* q becomes the d of H d = q, where H is singular or nearly so; h is scratch. */
static void solve_alone(const struct host_row_systems *s, const struct host_system *x, double *h,
                        double *q)
{
    const uint64_t rank = s->rank, ld = s->ld;
    double mean = 0;
    fill_matrix(s, x, h);
    for (uint64_t r = 0; r < rank; r++)
        mean += whole_of(s, x, r) / (double)rank;
    for (double shift = ROW_SHIFT; !factorise(s, x, h); shift *= ROW_SHIFT_UP) {
        if (!(mean > 0) || shift > ROW_SHIFT_END) {
            memset(q, 0, rank * sizeof *q);
            return;
        }
        fill_matrix(s, x, h);
        for (uint64_t r = 0; r < rank; r++)
            h[r * ld + r] += shift * mean;
    }
    substitute(h, rank, ld, q);
}

/* d G d' - 2 d b'. */
VECTOR_CLONES static double change_of_misfit(const struct host_system *x, const double *d,
                                             uint64_t rank, uint64_t ld)
{
    double sum = -2 * host_inner(d, x->b, rank);
    for (uint64_t i = 0; i < rank; i++) {
        const double *row = x->g + i * ld;
        sum += d[i] * (row[i] * d[i] + 2 * host_inner(row + i + 1, d + i + 1, rank - i - 1));
    }
    return sum;
}

/* Fills the part of row l, one of `rows`. */
static void begin_row(const struct host_row_systems *s, const struct host_system *x,
                      const double *a, const struct host_rows_room *room, uint64_t l, uint64_t rows)
{
    fill_gradient(s, x, a, room->rest);
    for (uint64_t r = 0; r < s->rank; r++) {
        room->q[r * rows + l] = room->rest[r];
        room->old[r * rows + l] = a[r];
        room->diagonal[r * rows + l] = ridge_times(s, x) * s->ridge[r];
        room->least[r * rows + l] = ROW_SINGULAR * whole_of(s, x, r);
    }
    room->settled[l] = 0; /* all passes */
}

/* The row a takes the step d; d (ld). */
static void take_step(const struct host_row_pass *pass, uint64_t row, const struct host_system *x,
                      const double *d, double *a, struct host_row_totals *totals)
{
    const struct host_row_systems *s = &pass->h->systems;
    const struct host_model *model = &pass->h->model;
    const double change = change_of_misfit(x, d, s->rank, s->ld);
    totals->misfit += x->number[SYSTEM_MISFIT] + change;
    totals->size += x->number[SYSTEM_SIZE] + fabs(change);
    for (uint64_t r = 0; r < s->rank; r++) {
        a[r] = s->rules.nonneg && a[r] + d[r] < 0 ? 0 : a[r] + d[r];
        if (s->rules.counted)
            totals->penalty += ridge_times(s, x) * s->ridge[r] * a[r] * a[r];
        a[r] *= pass->h->systems.out_scale[r];
    }
    host_entries_write(host_model_row(model, pass->h->solve.m, row), a, s->rank, model->precision);
}

void host_row_squares_solve(void *context, const struct host_system_rows *rows, double *scratch,
                            struct host_row_totals *totals)
{
    const struct host_row_pass *pass = context;
    const struct host_row_systems *s = &pass->h->systems;
    const struct host_rows_kernels *kernel = host_rows_kernels(s->rank);
    const struct host_rows_room room = host_rows_room_in(scratch, s->rank);
    struct host_rows_matrices m = {
        .rank = s->rank, .ld = s->ld, .common = s->common, .diagonal = room.diagonal};
    uint64_t known[HOST_ROWS_MOST] = {0}, count = 0;
    unsigned failed = 0; /* bit l is set where the kernel has no step for row l */
    for (uint64_t l = 0; l < rows->count; l++)
        if (rows->system[l].number[SYSTEM_KNOWN] != 0)
            known[count++] = l;
    if (count == 0)
        return;
    for (uint64_t l = 0; l < kernel->rows; l++) { /* with fewer rows, one more than once */
        const uint64_t k = known[l < count ? l : 0];
        m.g[l] = rows->system[k].g;
        begin_row(s, &rows->system[k], rows->a[k], &room, l, kernel->rows);
    }
    kernel->gather(&m, s->rules.nonneg, room.h);
    if (s->rules.nonneg) {
        const struct host_rows_descent descent =
            host_rows_descent_in(&room, s->rank, ROW_PASSES, s->rules.prox);
        kernel->descend(&descent);
    } else {
        failed = kernel->solve(room.h, s->rank, room.least, room.q);
    }
    const double *steps = s->rules.nonneg ? room.d : room.q;
    double *d = room.rest, *alone = d + s->ld; /* of one row: its step and its matrix */
    for (uint64_t l = 0; l < count; l++) {
        const struct host_system *x = &rows->system[known[l]];
        double *a = rows->a[known[l]];
        memset(d, 0, s->ld * sizeof *d);
        for (uint64_t r = 0; r < s->rank; r++)
            d[r] = steps[r * kernel->rows + l];
        if (failed >> l & 1) {
            fill_gradient(s, x, a, d);
            solve_alone(s, x, alone, d);
        }
        take_step(pass, rows->row[known[l]], x, d, a, totals);
    }
}
