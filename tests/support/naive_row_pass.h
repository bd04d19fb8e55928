/* The oracle of a pass of the kernels of rows: each row by itself, in long double, by the
 * definitions of numerics/row_term.h and poisson_term.h. Include it after cmocka.h. */
#pragma once

#include "support/naive_poisson.h"
#include "support/row_cases.h"

typedef long double naive_matrix[NAIVE_ROWS_RANK][NAIVE_ROWS_RANK];

/* A row's new entries, and what it adds to the totals. */
struct naive_row {
    long double old[NAIVE_ROWS_RANK], a[NAIVE_ROWS_RANK];
    long double misfit, size, penalty, violation;
    long double trace;                  /* of H, beside its least ridge: a bound of its condition */
    long double whole[NAIVE_ROWS_RANK]; /* of H's diagonal (row_whole) */
    naive_matrix h;                     /* of squares: H a = target                            */
    long double target[NAIVE_ROWS_RANK];
};

/* z (rank) of nonzero i. */
static inline void naive_row_z(const struct row_pass *p, int i, long double *z)
{
    for (uint32_t r = 0; r < p->of.rank; r++) {
        z[r] = 1;
        for (int n = 1; n < p->of.order; n++)
            z[r] *= p->table[n][(uint64_t)p->at[i][n] * p->of.rank + r];
    }
}

static inline void naive_row_old(const struct row_pass *p, uint32_t row, long double *a)
{
    const uint32_t number = p->at[p->first[row]][0];
    for (uint32_t r = 0; r < p->of.rank; r++)
        a[r] = (long double)p->table[0][(uint64_t)number * p->of.rank + r] * p->now[r];
}

static inline long double naive_row_model(const struct row_pass *p, int i, const long double *a)
{
    long double m = 0, z[NAIVE_ROWS_RANK];
    naive_row_z(p, i, z);
    for (uint32_t r = 0; r < p->of.rank; r++)
        m += a[r] * z[r];
    return m;
}

/* a = the solution of H a = target, by elimination. */
static inline void naive_row_eliminate(const struct naive_row *x, uint32_t rank, long double *a)
{
    naive_matrix *h = malloc(sizeof *h);
    memcpy(h, x->h, sizeof *h);
    memcpy(a, x->target, rank * sizeof *a);
    for (uint32_t k = 0; k < rank; k++)
        for (uint32_t i = k + 1; i < rank; i++) {
            const long double f = (*h)[i][k] / (*h)[k][k];
            for (uint32_t j = k; j < rank; j++)
                (*h)[i][j] -= f * (*h)[k][j];
            a[i] -= f * a[k];
        }
    for (uint32_t k = rank; k-- > 0;) {
        for (uint32_t j = k + 1; j < rank; j++)
            a[k] -= (*h)[k][j] * a[j];
        a[k] /= (*h)[k][k];
    }
    free(h);
}

static inline void naive_row_descend(const struct naive_row *x, uint32_t rank, long double *a)
{
    for (int pass = 0; pass < ROW_PASSES; pass++)
        for (uint32_t r = 0; r < rank; r++) {
            long double rest = x->target[r];
            for (uint32_t s = 0; s < rank; s++)
                rest -= s == r ? 0 : a[s] * x->h[s][r];
            a[r] = x->h[r][r] > ROW_SINGULAR * x->whole[r] ? fmaxl(0, rest / x->h[r][r]) : a[r];
        }
}

static inline void naive_row_squares(const struct row_pass *p, uint32_t row, struct naive_row *x)
{
    const uint32_t rank = p->of.rank;
    const long double h = p->of.unlisted;
    long double times = 0, least = INFINITY, z[NAIVE_ROWS_RANK];
    *x = (struct naive_row){0};
    for (int i = p->first[row]; i < p->first[row + 1]; i++) {
        const bool known = !isnan(p->value[i]);
        times += known;
        naive_row_z(p, i, z);
        for (uint32_t r = 0; r < rank; r++) {
            x->target[r] += known ? p->value[i] * z[r] : 0;
            x->whole[r] += fabsl(known - h) * z[r] * z[r];
            for (uint32_t s = 0; s <= r; s++)
                x->h[r][s] += (known - h) * z[r] * z[s];
        }
    }
    for (uint32_t r = 0; r < rank; r++)
        for (uint32_t s = 0; s < r; s++)
            x->h[s][r] = x->h[r][s];
    if (times == 0)
        return;
    times = p->of.counted ? times : 1;
    for (uint32_t r = 0; r < rank; r++) {
        for (uint32_t s = 0; s < rank; s++)
            x->h[r][s] += p->v[r * rank + s];
        x->h[r][r] += times * p->ridge[r];
        x->whole[r] += p->v[r * rank + r] + times * p->ridge[r];
        x->whole[r] = fmaxl(x->whole[r], p->cell[r]);
        x->trace += x->h[r][r];
        least = fminl(least, times * p->ridge[r]);
    }
    x->trace /= least;
    naive_row_old(p, row, x->old);
    memcpy(x->a, x->old, sizeof x->a);
    if (p->of.nonneg)
        naive_row_descend(x, rank, x->a);
    else
        naive_row_eliminate(x, rank, x->a);
    for (int i = p->first[row]; i < p->first[row + 1]; i++) {
        const long double m = naive_row_model(p, i, x->a);
        const long double rest = isnan(p->value[i]) ? 0 : p->value[i] - m;
        x->misfit += rest * rest - h * m * m;
        x->size += rest * rest + h * m * m;
    }
    for (uint32_t r = 0; p->of.counted && r < rank; r++)
        x->penalty += times * p->ridge[r] * x->a[r] * x->a[r];
}

/* In entries that are `unit` times shorter, in which the model's columns have the sum 1. */
static inline void naive_row_sum_counts(const struct row_pass *p, uint32_t row,
                                        const long double *a, struct naive_counts *s)
{
    const uint32_t rank = p->of.rank;
    long double z[NAIVE_ROWS_RANK];
    *s = (struct naive_counts){.least = 0};
    for (uint32_t r = 0; r < rank; r++)
        s->common[r] = (long double)p->linear[r] * p->unit[r];
    for (int i = p->first[row]; i < p->first[row + 1]; i++) {
        const bool known = !isnan(p->value[i]);
        long double m = 0, x = known ? p->value[i] : 0;
        naive_row_z(p, i, z);
        for (uint32_t r = 0; r < rank; r++) {
            m += a[r] * z[r];
            z[r] *= p->unit[r];
        }
        s->known += known;
        if (x > 0 && (s->least == 0 || x < s->least))
            s->least = x;
        const long double weight = naive_poisson_weight(known, m, p->of.kind);
        x = naive_poisson_count(x, m, p->of.kind);
        for (uint32_t r = 0; r < rank; r++) {
            s->common[r] += (weight - (long double)p->of.unlisted) * z[r];
            s->b[r] += x / m * z[r];
            const long double curvature = x / (m * m) * z[r];
            for (uint32_t t = 0; t <= r; t++)
                s->g[r][t] += curvature * z[t];
        }
    }
    for (uint32_t r = 0; r < rank; r++)
        for (uint32_t t = 0; t < r; t++)
            s->g[t][r] = s->g[r][t];
}

static inline void naive_row_counts(const struct row_pass *p, uint32_t row, struct naive_row *x)
{
    const uint32_t rank = p->of.rank;
    struct naive_counts *s = malloc(sizeof *s);
    long double a[NAIVE_ROWS_RANK];
    *x = (struct naive_row){0};
    naive_row_old(p, row, a);
    memcpy(x->old, a, rank * sizeof *a);
    naive_row_sum_counts(p, row, a, s);
    for (uint32_t r = 0; r < rank; r++) {
        a[r] /= p->unit[r];
        x->violation = fmaxl(
            x->violation,
            s->least == 0 ? 0 : fabsl(fminl(a[r] / p->args.rules.count, s->common[r] - s->b[r])));
    }
    naive_poisson_improve(s, (int)rank, p->of.multiplies ? SOLVER_MU : SOLVER_NEWTON, a);
    for (uint32_t r = 0; r < rank; r++)
        x->a[r] = a[r] * p->unit[r];
    free(s);
}
