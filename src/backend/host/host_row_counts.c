#include "backend/host/host_row_update.h"

#include <math.h>

#include "backend/host/host_entries.h"
#include "base/vector_clones.h"
#include "numerics/poisson_term.h"

uint64_t host_row_counts_begin(struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    const struct host_row_systems *s = &h->systems;
    for (uint64_t r = 0; r < s->rank; r++) {
        s->unit[r] = h->solve.row[r];
        s->linear[r] = s->rules.unlisted / s->unit[r];
        for (int n = 0; n < model->shape.order; n++)
            s->linear[r] *= n == mode ? 1 : model->factor[n].sum[r];
    }
    return s->rules.matrix ? host_rows_room_size(s->rank) : 0;
}

/* The part of the gradient that does not depend on the row. */
static inline double common_of(const struct host_row_systems *s, const struct host_system *x,
                               uint64_t r)
{
    return s->linear[r] + x->q[r];
}

VECTOR_CLONES static double largest_violation(const struct host_row_systems *s,
                                              const struct host_system *x, const double *a)
{
    double most = 0;
#pragma omp simd reduction(max : most)
    for (uint64_t r = 0; r < s->rank; r++) {
        const double gradient = (common_of(s, x, r) - x->b[r]) * s->unit[r];
        const double entry = a[r] / (s->unit[r] * s->rules.count);
        const double size = fabs(entry < gradient ? entry : gradient);
        most = size > most ? size : most;
    }
    return most;
}

/* By what the multiplicative step multiplies entry r; without a branch. */
static inline double factor_of(const struct host_row_systems *s, const struct host_system *x,
                               uint64_t r)
{
    const double common = common_of(s, x, r);
    const double factor = x->b[r] / (common > 0 ? common : 1);
    return common > 0 ? factor : 1;
}

VECTOR_CLONES static void multiply(const struct host_row_systems *s, const struct host_system *x,
                                   double *a)
{
#pragma omp simd
    for (uint64_t r = 0; r < s->rank; r++)
        a[r] += a[r] * (factor_of(s, x, r) - 1);
}

/* What the multiplicative step surely gains. */
static double gain_of_multiplying(const struct host_row_systems *s, const struct host_system *x,
                                  const double *a)
{
    double gain = 0;
    for (uint64_t r = 0; r < s->rank; r++) {
        const double factor = factor_of(s, x, r);
        gain += common_of(s, x, r) * a[r] * (factor > 0 ? factor * log(factor) - (factor - 1) : 1);
    }
    return gain;
}

/* For entries that H does not bind: the ridge of entry r, from the trace of H. */
static double ridge_of(const struct host_row_systems *s, double trace, uint64_t r)
{
    return POISSON_RIDGE * trace / ((double)s->rank * s->unit[r] * s->unit[r]);
}

/* Fills the part of row l, one of `rows`. */
static void begin_row(const struct host_row_systems *s, const struct host_system *x,
                      const double *a, const struct host_rows_room *room, uint64_t l, uint64_t rows)
{
    double trace = 0;
    for (uint64_t r = 0; r < s->rank; r++)
        trace += x->g[r * s->ld + r] * s->unit[r] * s->unit[r];
    for (uint64_t r = 0; r < s->rank; r++) {
        const uint64_t at = r * rows + l;
        room->q[at] = x->b[r] - common_of(s, x, r);
        room->old[at] = a[r];
        room->diagonal[at] = ridge_of(s, trace, r);
        room->least[at] = 0;
    }
    room->settled[l] = POISSON_SETTLED * POISSON_SETTLED * x->number[SYSTEM_LEAST];
}

/* Row l takes the step d, damped where it is not small, or the multiplicative one. */
static void end_row(const struct host_row_systems *s, const struct host_system *x, double *a,
                    const struct host_rows_room *room, uint64_t l, uint64_t rows)
{
    double square = 0, damped = 1; /* d'Hd */
    for (uint64_t r = 0; r < s->rank; r++)
        square += room->d[r * rows + l] * (x->b[r] - common_of(s, x, r) - room->q[r * rows + l]);
    const double length = sqrt((square > 0 ? square : 0) / x->number[SYSTEM_LEAST]);
    if (!(length < POISSON_WHOLE)) {
        damped = 1 / (1 + length);
        if (gain_of_multiplying(s, x, a) > x->number[SYSTEM_LEAST] * (length - log1p(length))) {
            multiply(s, x, a);
            return;
        }
    }
    for (uint64_t r = 0; r < s->rank; r++)
        a[r] += damped * room->d[r * rows + l];
}

static void step_newton(const struct host_row_systems *s, const struct host_system *x,
                        uint64_t count, double *const *a, double *scratch)
{
    const struct host_rows_kernels *kernel = host_rows_kernels(s->rank);
    const struct host_rows_room room = host_rows_room_in(scratch, s->rank);
    const struct host_rows_descent descent =
        host_rows_descent_in(&room, s->rank, POISSON_PASSES, s->rules.prox);
    struct host_rows_matrices m = {.rank = s->rank, .ld = s->ld, .diagonal = room.diagonal};
    for (uint64_t l = 0; l < kernel->rows;
         l++) { /* where there are fewer rows, one more than once */
        const uint64_t row = l < count ? l : 0;
        m.g[l] = x[row].g;
        begin_row(s, &x[row], a[row], &room, l, kernel->rows);
    }
    kernel->gather(&m, true, room.h);
    kernel->descend(&descent);
    for (uint64_t l = 0; l < count; l++)
        end_row(s, &x[l], a[l], &room, l, kernel->rows);
}

/* h (R) = the diagonal of G. */
VECTOR_CLONES static void fill_diagonal(const struct host_system *x, uint64_t rank, uint64_t ld,
                                        double *h)
{
    for (uint64_t r = 0; r < rank; r++)
        h[r] = x->factor > 0 ? 0 : x->g[r * ld + r];
    for (uint64_t k = 0; k < x->factor; k++)
        for (uint64_t r = 0; r < rank; r++)
            h[r] += x->g[k * ld + r] * x->g[k * ld + r];
}

/* d'Gd. */
VECTOR_CLONES static double square_of(const struct host_row_systems *s, const struct host_system *x,
                                      const double *d)
{
    double sum = 0;
    for (uint64_t k = 0; k < x->factor; k++) {
        const double of_row = host_inner(x->g + k * s->ld, d, s->rank);
        sum += of_row * of_row;
    }
    for (uint64_t i = 0; x->factor == 0 && i < s->rank; i++) {
        const double *row = x->g + i * s->ld + i;
        sum += d[i] * (2 * host_inner(row, d + i, s->rank - i) - row[0] * d[i]);
    }
    return sum;
}

/* d (R) = the direction of the diagonal step of a row, a, where `inverse` is the inverse of what
 * the row was multiplied by; d comes as H's diagonal. Returns -g'd. */
VECTOR_CLONES static double find_direction(const double *b, const double *linear, uint64_t rank,
                                           double inverse, const double *a, double *d)
{
    double slope = 0;
#pragma omp simd reduction(+ : slope)
    for (uint64_t r = 0; r < rank; r++) {
        const double down = b[r] * inverse - linear[r];
        d[r] = poisson_diagonal(down, 1 / (inverse * inverse * d[r]), a[r]);
        slope += down * d[r];
    }
    return slope;
}

/* scratch (2 R). */
VECTOR_CLONES static void step_diagonal(const struct host_row_systems *s,
                                        const struct host_system *x, double *a, double *scratch)
{
    double *d = scratch, *linear = scratch + s->rank, trace = 0;
    fill_diagonal(x, s->rank, s->ld, d);
    for (uint64_t r = 0; r < s->rank; r++) {
        linear[r] = common_of(s, x, r);
        trace += d[r] * s->unit[r] * s->unit[r];
    }
    for (uint64_t r = 0; r < s->rank; r++)
        d[r] += ridge_of(s, trace, r);
    const double scale =
        poisson_row_scale(host_inner(x->b, a, s->rank), host_inner(linear, a, s->rank));
    const double inverse = 1 / scale;
    for (uint64_t r = 0; r < s->rank; r++)
        a[r] *= scale;
    const double slope = find_direction(x->b, linear, s->rank, inverse, a, d);
    const double square = square_of(s, x, d) * inverse * inverse;
    const double part =
        poisson_diagonal_part(slope, square > 0 ? square : 0, x->number[SYSTEM_LEAST]);
    for (uint64_t r = 0; r < s->rank; r++)
        a[r] += part * d[r];
}

void host_row_counts_improve(void *context, const struct host_system_rows *rows, double *scratch,
                             struct host_row_totals *totals)
{
    const struct host_row_pass *pass = context;
    const struct host_row_systems *s = &pass->h->systems;
    const struct host_model *model = &pass->h->model;
    const double floor = s->rules.floor;
    struct host_system newton[HOST_ROWS_MOST] = {0};
    double *of_newton[HOST_ROWS_MOST] = {0};
    uint64_t count = 0; /* of rows that take Newton's step, together */
    for (uint64_t l = 0; l < rows->count; l++) {
        const struct host_system *x = &rows->system[l];
        double *a = rows->a[l];
        if (x->number[SYSTEM_LEAST] == 0)
            continue;
        totals->violation = fmax(totals->violation, largest_violation(s, x, a));
        if (!s->rules.matrix) {
            multiply(s, x, a);
        } else if (x->number[SYSTEM_KNOWN] <= poisson_short_rows(s->rank)) {
            step_diagonal(s, x, a, scratch);
        } else {
            newton[count] = *x;
            of_newton[count++] = a;
        }
    }
    if (count > 0)
        step_newton(s, newton, count, of_newton, scratch);
    for (uint64_t l = 0; l < rows->count; l++) {
        double *a = rows->a[l];
        if (rows->system[l].number[SYSTEM_LEAST] == 0)
            continue;
        for (uint64_t r = 0; r < s->rank; r++) {
            a[r] *= pass->h->systems.out_scale[r];
            a[r] = a[r] < floor ? floor : a[r]; /* a NaN stays */
        }
        host_entries_write(host_model_row(model, pass->h->solve.m, rows->row[l]), a, s->rank,
                           model->precision);
    }
}
