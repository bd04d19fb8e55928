/* The oracle of runs with a Poisson loss (numerics/poisson_term.h), in long double: columns of
 * 1-norm 1, and for each row the sums b, q and G. */
#pragma once

#include "support/naive_rows.h"

/* Divides the columns by their sums, which become lambda. */
static inline void naive_poisson_normalise(struct naive_rows *m, int n)
{
    const uint64_t rank = (uint64_t)m->rank;
    for (uint64_t r = 0; r < rank; r++) {
        m->lambda[r] = 0;
        for (uint64_t i = 0; i < m->shape.dims[n]; i++)
            m->lambda[r] += m->a[n][i * rank + r];
        for (uint64_t i = 0; i < m->shape.dims[n]; i++)
            m->a[n][i * rank + r] /= m->lambda[r];
    }
}

/* The count that stands for a value x, where the model has the value y: of clipped counts, of which
 * a one says only that they are not 0, the mean of those. */
static inline long double naive_poisson_count(long double x, long double y, enum poisson_kind kind)
{
    return kind == POISSON_CLIPPED && x > 0 ? y / -expm1l(-y) : x;
}

/* How many entries a listed one stands for: if zero-truncated, also for those that were 0. */
static inline long double naive_poisson_weight(bool known, long double y, enum poisson_kind kind)
{
    return kind == POISSON_TRUNCATED && known ? 1 / -expm1l(-y) : known;
}

/* The rate of which zero-truncated counts have the mean x, by bisection. */
static inline long double naive_truncated_rate(long double x)
{
    long double low = 0, high = x;
    for (int i = 0; i < 200; i++) {
        const long double middle = (low + high) / 2;
        if (middle > -x * expm1l(-middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Half of what a value adds to the deviance where the model has the value y. */
static inline long double naive_poisson_misfit(long double x, long double y, enum poisson_kind kind)
{
    if (!(x > 0))
        return y;
    if (kind == POISSON_CLIPPED)
        return -logl(-expm1l(-y));
    if (kind == POISSON_COUNTS)
        return y - x - x * logl(y / x);
    const long double best = naive_truncated_rate(x);
    if (x == 1) /* the best rate is 0, and the limit of log((1 - exp(-m)) / m) too */
        return y + logl(-expm1l(-y) / y);
    return y + logl(-expm1l(-y)) - x * logl(y) - (best + logl(-expm1l(-best)) - x * logl(best));
}

/* The sum of the misfits of listed entries, and of h m over all others. */
static inline long double naive_poisson_deviance(const struct naive_rows *m, const struct coo *x,
                                                 long double h, enum poisson_kind kind)
{
    uint32_t at[MAX_ORDER];
    long double sum = 0;
    for (int r = 0; r < m->rank; r++)
        sum += h * m->lambda[r];
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const long double y = naive_row_value(m, at);
        sum -= h * y;
        if (!isnan(x->value[i]))
            sum += naive_poisson_misfit(x->value[i], y, kind);
    }
    return sum;
}

/* The model k, with its weights multiplied so that the entries that count have the total of x, or
 * of the equal rates that explain clipped counts best. */
static inline void naive_poisson_create(struct naive_rows *m, const struct ktensor *k,
                                        const struct coo *x, long double h, enum poisson_kind kind)
{
    long double total = 0, model = 0, entries = h;
    for (int n = 0; n < x->shape.order; n++)
        entries *= (long double)x->shape.dims[n];
    uint32_t at[MAX_ORDER];
    naive_rows_take(m, k, naive_poisson_normalise);
    for (int r = 0; r < m->rank; r++)
        model += h * m->lambda[r];
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const bool known = !isnan(x->value[i]);
        total += known ? x->value[i] : 0;
        model += (known - h) * naive_row_value(m, at);
        entries += known - h;
    }
    if (kind == POISSON_CLIPPED)
        total = -entries * log1pl(-total / entries);
    if (kind == POISSON_TRUNCATED)
        total = entries * naive_truncated_rate(total / entries);
    for (int r = 0; r < m->rank; r++)
        m->lambda[r] *= total / model;
}

/* One row's sums. */
struct naive_counts {
    long double b[NAIVE_ROWS_RANK], common[NAIVE_ROWS_RANK];
    long double g[NAIVE_ROWS_RANK][NAIVE_ROWS_RANK];
    long double least;
    int known;
};

static inline void naive_poisson_sum(struct naive_counts *s, const struct naive_rows *m,
                                     const struct coo *x, const struct naive_lists *l, int mode,
                                     uint64_t row, long double h, const struct problem *p)
{
    const enum poisson_kind kind = loss_of(p->loss)->kind;
    const bool curved = p->solver == SOLVER_NEWTON; /* no other step asks for G */
    const int rank = m->rank;
    long double z[NAIVE_ROWS_RANK];
    s->least = 0;
    s->known = 0;
    for (int r = 0; r < rank; r++) {
        s->common[r] = h;
        s->b[r] = 0;
        memset(s->g[r], 0, (size_t)rank * sizeof **s->g);
    }
    for (uint64_t e = l->first[row]; e > 0; e = l->next[e - 1]) {
        const uint64_t i = e - 1;
        const bool known = !isnan(x->value[i]);
        long double value = known ? x->value[i] : 0, y = 0;
        s->known += known;
        for (int r = 0; r < rank; r++) {
            z[r] = 1;
            for (int n = 0; n < m->shape.order; n++)
                z[r] *= n == mode
                            ? 1
                            : m->a[n][(uint64_t)x->index[n][i] * (uint64_t)rank + (uint64_t)r];
            y += m->a[mode][row * (uint64_t)rank + (uint64_t)r] * m->lambda[r] * z[r];
        }
        if (value > 0 && (s->least == 0 || value < s->least))
            s->least = value;
        const long double weight = naive_poisson_weight(known, y, kind);
        value = naive_poisson_count(value, y, kind);
        for (int r = 0; r < rank; r++) {
            s->common[r] += (weight - h) * z[r];
            s->b[r] += value > 0 ? value / y * z[r] : 0;
            const long double curvature = value > 0 ? value / (y * y) * z[r] : 0;
            for (int t = 0; curved && value > 0 && t <= r; t++)
                s->g[r][t] += curvature * z[t];
        }
    }
    for (int r = 0; r < rank; r++)
        for (int t = 0; t < r; t++)
            s->g[t][r] = s->g[r][t];
}

/* d = the damped step of the row a; returns what it surely gains, infinity where it is whole. */
static inline long double naive_poisson_newton(const struct naive_counts *s, const long double *a,
                                               int rank, long double *d)
{
    long double h[NAIVE_ROWS_RANK][NAIVE_ROWS_RANK], q[NAIVE_ROWS_RANK] = {0}, trace = 0;
    memcpy(h, s->g, (size_t)rank * sizeof *h);
    for (int r = 0; r < rank; r++)
        trace += s->g[r][r];
    for (int r = 0; r < rank; r++) {
        h[r][r] += 1e-9L * trace / rank;
        q[r] = s->common[r] - s->b[r];
        d[r] = 0;
    }
    for (int pass = 0; pass < 8; pass++)
        for (int r = 0; r < rank; r++) {
            long double to = d[r] - q[r] / h[r][r];
            to = to > -0.9L * a[r] ? to : -0.9L * a[r];
            const long double step = to - d[r];
            d[r] = to;
            for (int t = 0; t < rank; t++)
                q[t] += step * h[r][t];
        }
    long double square = 0;
    for (int r = 0; r < rank; r++)
        for (int t = 0; t < rank; t++)
            square += d[r] * h[r][t] * d[t];
    const long double length = sqrtl(square / s->least);
    if (length < 0.3L)
        return INFINITY;
    for (int r = 0; r < rank; r++)
        d[r] /= 1 + length;
    return s->least * (length - log1pl(length));
}

/* d = the diagonal step of a row: first to its total, then every entry to its own minimum of the
 * quadratic model there, in common as far as that falls. */
static inline void naive_poisson_diagonal(const struct naive_counts *s, const long double *a,
                                          int rank, long double *d)
{
    long double slope = 0, square = 0, counts = 0, mass = 0, trace = 0, g[NAIVE_ROWS_RANK];
    for (int r = 0; r < rank; r++) {
        trace += s->g[r][r];
        counts += s->b[r] * a[r];
        mass += s->common[r] * a[r];
    }
    const long double scale = counts / mass;
    for (int r = 0; r < rank; r++) {
        g[r] = s->common[r] - s->b[r] / scale;
        const long double h = (s->g[r][r] + 1e-9L * trace / rank) / (scale * scale);
        const long double to = -g[r] / h;
        d[r] = to > -0.9L * scale * a[r] ? to : -0.9L * scale * a[r];
        slope -= g[r] * d[r];
    }
    for (int r = 0; r < rank; r++)
        for (int t = 0; t < rank; t++)
            square += d[r] * s->g[r][t] / (scale * scale) * d[t];
    long double part = slope < square ? slope / square : 1;
    const long double length = sqrtl(square / s->least);
    if (part * length >= 0.3L)
        part = fminl(part, slope / (square + slope * length));
    for (int r = 0; r < rank; r++)
        d[r] = (scale - 1) * a[r] + part * d[r];
}

/* Whether d is the step of a row that has the sums s, where the multiplicative one gains `gain`. */
static inline bool naive_poisson_step(const struct naive_counts *s, const long double *a, int rank,
                                      long double gain, long double *d)
{
    if (s->least == 0)
        return false;
    if (s->known > 32 || s->known >= rank)
        return naive_poisson_newton(s, a, rank, d) >= gain;
    naive_poisson_diagonal(s, a, rank, d);
    return true;
}

/* The row a, which has the sums s, takes a step. */
static inline void naive_poisson_improve(const struct naive_counts *s, int rank, enum solver solver,
                                         long double *a)
{
    long double d[NAIVE_ROWS_RANK], gain = 0;
    for (int r = 0; r < rank; r++) {
        const long double f = s->b[r] / s->common[r];
        gain += s->common[r] * a[r] * (f > 0 ? 1 - f + f * logl(f) : 1);
    }
    const bool newton = solver == SOLVER_NEWTON && naive_poisson_step(s, a, rank, gain, d);
    for (int r = 0; r < rank; r++)
        a[r] = s->least == 0 ? 0 : newton ? a[r] + d[r] : a[r] * s->b[r] / s->common[r];
}

/* Improves every row of a mode, as often as p says, with the weights in the mode meanwhile (Chi and
 * Kolda, Algorithm 3); unlisted entries have the weight h. */
static inline void naive_poisson_update(struct naive_rows *m, const struct coo *x, int mode,
                                        const struct problem *p, long double h)
{
    const uint64_t rank = (uint64_t)m->rank;
    struct naive_counts *s = malloc(sizeof *s);
    struct naive_lists l = naive_rows_link(x, mode);
    for (uint64_t e = 0; e < m->shape.dims[mode] * rank; e++)
        m->a[mode][e] *= m->lambda[e % rank];
    for (uint64_t r = 0; r < rank; r++)
        m->lambda[r] = 1;
    for (uint64_t row = 0; row < m->shape.dims[mode]; row++)
        for (int step = 0; step < problem_inner(p); step++) {
            naive_poisson_sum(s, m, x, &l, mode, row, h, p);
            naive_poisson_improve(s, m->rank, p->solver, m->a[mode] + row * rank);
        }
    naive_poisson_normalise(m, mode);
    naive_rows_unlink(&l);
    free(s);
}
