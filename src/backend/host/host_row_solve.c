#include "backend/host/host_row_solve.h"

#include <math.h>
#include <string.h>

#include "backend/host/host_inner.h"
#include "backend/host/host_rows_simd.h"
#include "base/vector_clones.h"
#include "numerics/row_term.h"

uint64_t host_row_solve_room(uint64_t rank, uint64_t ld)
{
    return host_rows_room_size(rank) + ld + ld * ld;
}

/* h (R x ld) = G + h V + ridge, the upper triangle and the diagonal. */
static void fill_matrix(const struct host_row_solve *s, const struct host_row_system *x, double *h)
{
    const uint64_t ld = s->ld;
    for (uint64_t i = 0; i < s->rank; i++) {
        double *row = h + i * ld;
        memcpy(row + i, x->g + i * ld + i, (ld - i) * sizeof *row);
        for (uint64_t j = i; s->v && j < ld; j++)
            row[j] += s->v[i * ld + j];
        row[i] += x->ridge * s->ridge[i];
    }
}

/* q (ld) = b - h V a - ridge a. */
VECTOR_CLONES static void fill_gradient(const struct host_row_solve *s,
                                        const struct host_row_system *x, const double *a,
                                        double *restrict q)
{
    const uint64_t ld = s->ld;
    memcpy(q, x->b, ld * sizeof *q);
    for (uint64_t i = 0; i < s->rank; i++)
        q[i] -= x->ridge * s->ridge[i] * a[i];
    for (uint64_t i = 0; s->v && i < s->rank; i++)
        for (uint64_t j = 0; j < ld; j++)
            q[j] -= a[i] * s->v[i * ld + j];
}

static double whole_of(const struct host_row_solve *s, const struct host_row_system *x, uint64_t r)
{
    const double v = s->v ? s->v[r * s->ld + r] : 0;
    return row_whole(x->g[r * s->ld + r], v, x->ridge * s->ridge[r], s->cell[r]);
}

/* H = U'U, in place; false where rounding has eaten a pivot. */
static bool factorise(const struct host_row_solve *s, const struct host_row_system *x, double *h)
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
static void solve_alone(const struct host_row_solve *s, const struct host_row_system *x, double *h,
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
VECTOR_CLONES static double change_of_misfit(const struct host_row_system *x, const double *d,
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
static void begin_row(const struct host_row_solve *s, const struct host_row_system *x,
                      const double *a, const struct host_rows_room *room, uint64_t l, uint64_t rows)
{
    fill_gradient(s, x, a, room->rest);
    for (uint64_t r = 0; r < s->rank; r++) {
        room->q[r * rows + l] = room->rest[r];
        room->lower[r * rows + l] = -a[r];
        room->diagonal[r * rows + l] = x->ridge * s->ridge[r];
        room->least[r * rows + l] = ROW_SINGULAR * whole_of(s, x, r);
    }
    room->settled[l] = 0; /* all passes */
}

/* The steps of all rows, interleaved; bit l of the result is set where there is none for row l. */
static unsigned find_steps(const struct host_row_solve *s, const struct host_rows_kernels *kernel,
                           const struct host_rows_matrices *m, const struct host_rows_room *room)
{
    const struct host_rows_descent descent = host_rows_descent_in(room, s->rank, ROW_PASSES);
    kernel->gather(m, s->nonneg, room->h);
    if (!s->nonneg)
        return kernel->solve(room->h, s->rank, room->least, room->q);
    kernel->descend(&descent);
    return 0;
}

void host_rows_solve(const struct host_row_solve *s, struct host_row_system *x, uint64_t count,
                     double *const *a, double *scratch)
{
    const struct host_rows_kernels *kernel = host_rows_kernels(s->rank);
    const uint64_t rows = kernel->rows;
    const struct host_rows_room room = host_rows_room_in(scratch, s->rank);
    struct host_rows_matrices m = {
        .rank = s->rank, .ld = s->ld, .common = s->v, .diagonal = room.diagonal};
    if (count == 0)
        return;
    for (uint64_t l = 0; l < rows; l++) { /* where there are fewer rows, one more than once */
        const uint64_t of = l < count ? l : 0;
        m.g[l] = x[of].g;
        begin_row(s, &x[of], a[of], &room, l, rows);
    }
    const unsigned failed = find_steps(s, kernel, &m, &room);
    const double *steps = s->nonneg ? room.d : room.q;
    double *d = room.rest, *alone = d + s->ld; /* of one row: its step and its matrix */
    for (uint64_t l = 0; l < count; l++) {
        memset(d, 0, s->ld * sizeof *d);
        for (uint64_t r = 0; r < s->rank; r++)
            d[r] = steps[r * rows + l];
        if (failed >> l & 1) {
            fill_gradient(s, &x[l], a[l], d);
            solve_alone(s, &x[l], alone, d);
        }
        for (uint64_t r = 0; r < s->rank; r++)
            a[l][r] = s->nonneg && a[l][r] + d[r] < 0 ? 0 : a[l][r] + d[r];
        x[l].change = change_of_misfit(&x[l], d, s->rank, s->ld);
    }
}
