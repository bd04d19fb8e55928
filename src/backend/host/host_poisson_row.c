#include "backend/host/host_poisson_row.h"

#include <math.h>
#include <string.h>

#include "numerics/poisson_term.h"

#define PASSES  8     /* of coordinate descent, at most                              */
#define SETTLED 1e-12 /* a pass that moves no coordinate by more, beside a count, is the last */
#define RIDGE   1e-9  /* of the mean diagonal entry of G: for entries that G does not bind */
#define WHOLE   0.3   /* a smaller L needs no damping                                */

uint64_t host_poisson_row_room(uint64_t ld, enum solver solver)
{
    return 3 * ld + (solver == SOLVER_NEWTON ? ld * ld : 0);
}

/* The part of the gradient that does not depend on the row. */
static double common_of(const struct host_poisson_rows *s, const struct host_poisson_row *x,
                        uint64_t r)
{
    return s->common[r] + x->q[r];
}

static double largest_violation(const struct host_poisson_rows *s, const struct host_poisson_row *x,
                                const double *a)
{
    double most = 0;
    for (uint64_t r = 0; r < s->rank; r++) {
        const double gradient = (common_of(s, x, r) - x->b[r]) * s->unit[r];
        most = fmax(most, fabs(fmin(a[r] / (s->unit[r] * s->count), gradient)));
    }
    return most;
}

/* d (ld) = the multiplicative step. Returns what it surely gains. */
static double multiplicative(const struct host_poisson_rows *s, const struct host_poisson_row *x,
                             const double *a, double *d)
{
    double gain = 0;
    for (uint64_t r = 0; r < s->rank; r++) {
        const double common = common_of(s, x, r), factor = common > 0 ? x->b[r] / common : 1;
        d[r] = a[r] * (factor - 1);
        gain += common * a[r] * (factor > 0 ? factor * log(factor) - (factor - 1) : 1);
    }
    return gain;
}

/* h (R x ld) = G, whole, with a ridge on its diagonal. */
static void fill_matrix(const struct host_poisson_rows *s, const struct host_poisson_row *x,
                        double *h)
{
    const uint64_t ld = s->ld;
    double trace = 0;
    for (uint64_t i = 0; i < s->rank; i++)
        trace += x->g[i * ld + i] * s->unit[i] * s->unit[i];
    for (uint64_t i = 0; i < s->rank; i++) {
        memcpy(h + i * ld + i, x->g + i * ld + i, (ld - i) * sizeof *h);
        for (uint64_t j = 0; j < i; j++)
            h[i * ld + j] = h[j * ld + i];
        h[i * ld + i] += RIDGE * trace / ((double)s->rank * s->unit[i] * s->unit[i]);
    }
}

/* d (ld) = about the minimum of g'd + d'Hd / 2 where no entry of a loses more than it may; q (ld)
 * begins as -g and ends as -(g + H d). */
static void descend(const struct host_poisson_rows *s, double least, const double *a,
                    const double *h, double *q, double *d)
{
    const uint64_t ld = s->ld;
    memset(d, 0, ld * sizeof *d);
    for (int pass = 0; pass < PASSES; pass++) {
        double most = 0;
        for (uint64_t r = 0; r < s->rank; r++) {
            const double *row = h + r * ld;
            if (!(row[r] > 0))
                continue;
            const double wanted = d[r] + q[r] / row[r], bound = (POISSON_KEEPS - 1) * a[r];
            const double step = (wanted > bound ? wanted : bound) - d[r];
            d[r] += step;
            for (uint64_t j = 0; step != 0 && j < ld; j++)
                q[j] -= step * row[j];
            most = fmax(most, step * step * row[r]);
        }
        if (most < SETTLED * SETTLED * least)
            return;
    }
}

/* d (ld) = the damped step. Returns what it surely gains; infinity where it is not damped. */
static double newton(const struct host_poisson_rows *s, const struct host_poisson_row *x,
                     const double *a, double *d, double *scratch)
{
    double *h = scratch, *q = h + s->ld * s->ld, square = 0;
    memset(q, 0, s->ld * sizeof *q);
    for (uint64_t r = 0; r < s->rank; r++)
        q[r] = x->b[r] - common_of(s, x, r);
    fill_matrix(s, x, h);
    descend(s, x->least, a, h, q, d);
    for (uint64_t r = 0; r < s->rank; r++)
        square += d[r] * (x->b[r] - common_of(s, x, r) - q[r]); /* d'Hd */
    const double length = sqrt((square > 0 ? square : 0) / x->least);
    if (length < WHOLE)
        return INFINITY;
    for (uint64_t r = 0; r < s->rank; r++)
        d[r] /= 1 + length;
    return x->least * (length - log1p(length));
}

double host_poisson_row_improve(const struct host_poisson_rows *s, const struct host_poisson_row *x,
                                double *a, double *scratch)
{
    double *d = scratch, *other = d + s->ld;
    const double violation = largest_violation(s, x, a);
    double gain = -INFINITY;
    if (s->solver == SOLVER_NEWTON)
        gain = newton(s, x, a, other, other + s->ld);
    if (gain == INFINITY || multiplicative(s, x, a, d) <= gain)
        d = other;
    for (uint64_t r = 0; r < s->rank; r++)
        a[r] += d[r];
    return violation;
}
