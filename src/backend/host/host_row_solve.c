#include "backend/host/host_row_solve.h"

#include <math.h>
#include <string.h>

#define PASSES    10    /* of coordinate descent                                              */
#define SINGULAR  1e-14 /* a pivot that is this small beside its diagonal entry is rounding   */
#define SHIFT     1e-12 /* of the mean diagonal entry: what a singular H gets first ...       */
#define SHIFT_UP  100   /* ... and by which that grows, until H is no longer singular         */
#define SHIFT_END 1e6   /* enough for any H that is finite                                    */

uint64_t host_row_solve_room(uint64_t ld)
{
    return ld * ld + 2 * ld;
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
static void fill_gradient(const struct host_row_solve *s, const struct host_row_system *x,
                          const double *a, double *q)
{
    const uint64_t ld = s->ld;
    memcpy(q, x->b, ld * sizeof *q);
    for (uint64_t i = 0; i < s->rank; i++)
        q[i] -= x->ridge * s->ridge[i] * a[i];
    for (uint64_t i = 0; s->v && i < s->rank; i++)
        for (uint64_t j = 0; j < ld; j++)
            q[j] -= a[i] * s->v[i * ld + j];
}

/* H = U'U, in place; false where rounding has eaten a pivot. */
static bool factorise(double *h, uint64_t rank, uint64_t ld)
{
    for (uint64_t k = 0; k < rank; k++) {
        double *row = h + k * ld;
        const double whole = row[k];
        for (uint64_t i = 0; i < k; i++) {
            const double *above = h + i * ld, f = above[k];
            for (uint64_t j = k; j < ld; j++)
                row[j] -= f * above[j];
        }
        if (!(row[k] > SINGULAR * whole))
            return false;
        const double scale = 1 / sqrt(row[k]);
        for (uint64_t j = k; j < ld; j++)
            row[j] *= scale;
    }
    return true;
}

static double inner(const double *x, const double *y, uint64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
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
        q[k] = (q[k] - inner(row + k + 1, q + k + 1, rank - k - 1)) / row[k];
    }
}

/* q becomes the d of H d = q. */
static void solve_free(const struct host_row_solve *s, const struct host_row_system *x, double *h,
                       double *q)
{
    const uint64_t rank = s->rank, ld = s->ld;
    double mean = 0;
    fill_matrix(s, x, h);
    for (uint64_t r = 0; r < rank; r++)
        mean += h[r * ld + r] / (double)rank;
    for (double shift = SHIFT; !factorise(h, rank, ld); shift *= SHIFT_UP) {
        if (!(mean > 0) || shift > SHIFT_END) {
            memset(q, 0, rank * sizeof *q);
            return;
        }
        fill_matrix(s, x, h);
        for (uint64_t r = 0; r < rank; r++)
            h[r * ld + r] += shift * mean;
    }
    substitute(h, rank, ld, q);
}

/* d (ld) with a + d >= 0; q begins as the gradient, and stays it. */
static void solve_nonneg(const struct host_row_solve *s, const struct host_row_system *x,
                         const double *a, double *h, double *q, double *d)
{
    const uint64_t rank = s->rank, ld = s->ld;
    fill_matrix(s, x, h);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < i; j++)
            h[i * ld + j] = h[j * ld + i];
    memset(d, 0, ld * sizeof *d);
    for (int pass = 0; pass < PASSES; pass++)
        for (uint64_t r = 0; r < rank; r++) {
            const double *row = h + r * ld;
            if (!(row[r] > 0))
                continue;
            const double wanted = d[r] + q[r] / row[r];
            const double step = (wanted > -a[r] ? wanted : -a[r]) - d[r];
            d[r] += step;
            for (uint64_t j = 0; step != 0 && j < rank; j++)
                q[j] -= step * row[j];
        }
}

/* d G d' - 2 d b'. */
static double change_of_misfit(const struct host_row_system *x, const double *d, uint64_t rank,
                               uint64_t ld)
{
    double sum = -2 * inner(d, x->b, rank);
    for (uint64_t i = 0; i < rank; i++) {
        const double *row = x->g + i * ld;
        sum += d[i] * (row[i] * d[i] + 2 * inner(row + i + 1, d + i + 1, rank - i - 1));
    }
    return sum;
}

double host_row_solve(const struct host_row_solve *s, const struct host_row_system *x, double *a,
                      double *scratch)
{
    const uint64_t rank = s->rank, ld = s->ld;
    double *h = scratch, *q = h + ld * ld, *d = q + ld;
    fill_gradient(s, x, a, q);
    if (s->nonneg)
        solve_nonneg(s, x, a, h, q, d);
    else {
        solve_free(s, x, h, q);
        d = q;
    }
    for (uint64_t r = 0; r < rank; r++)
        a[r] = s->nonneg && a[r] + d[r] < 0 ? 0 : a[r] + d[r];
    return change_of_misfit(x, d, rank, ld);
}
