/* The oracle of runs in which each row of a factor matrix has its own system (numerics/row_term.h):
 * ALS by rows in long double, by Gaussian elimination on H a = sum of v x z, or by HALS. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/ktensor.h"
#include "numerics/row_term.h"
#include "problem/problem.h"
#include "support/naive_hals.h"
#include "tensor/coo.h"

#define NAIVE_ROWS_RANK 80

/* A_n (I_n x R) with unit columns, and lambda. */
struct naive_rows {
    struct shape shape;
    int rank;
    long double *a[MAX_ORDER];
    long double lambda[NAIVE_ROWS_RANK];
};

static inline long double naive_row_value(const struct naive_rows *m, const uint32_t *at)
{
    long double sum = 0;
    for (int r = 0; r < m->rank; r++) {
        long double product = m->lambda[r];
        for (int n = 0; n < m->shape.order; n++)
            product *= m->a[n][(uint64_t)at[n] * (uint64_t)m->rank + (uint64_t)r];
        sum += product;
    }
    return sum;
}

/* The value of the model k at coordinates `at`; *terms = the sum of the magnitudes of its terms. */
static inline long double naive_model_terms(const struct ktensor *k, const uint32_t *at,
                                            long double *terms)
{
    long double sum = 0;
    *terms = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        long double product = k->lambda[r];
        for (int n = 0; n < k->shape.order; n++)
            product *= k->factor[n][at[n] * k->rank + r];
        sum += product;
        *terms += fabsl(product);
    }
    return sum;
}

static inline long double naive_model_value(const struct ktensor *k, const uint32_t *at)
{
    long double terms;
    return naive_model_terms(k, at, &terms);
}

static inline void naive_rows_at(const struct coo *x, uint64_t i, uint32_t *at)
{
    for (int n = 0; n < x->shape.order; n++)
        at[n] = x->index[n][i];
}

/* The nonzeros of each row of a mode: those of row i are first[i] - 1 and, after nonzero e, next[e]
 * - 1, until there is a 0. naive_rows_unlink frees the lists. */
struct naive_lists {
    uint64_t *first, *next;
};

static inline struct naive_lists naive_rows_link(const struct coo *x, int mode)
{
    struct naive_lists l = {calloc(x->shape.dims[mode], sizeof *l.first),
                            calloc(x->nnz + 1, sizeof *l.next)};
    for (uint64_t i = x->nnz; i-- > 0;) {
        uint64_t *first = &l.first[x->index[mode][i]];
        l.next[i] = *first;
        *first = i + 1;
    }
    return l;
}

static inline void naive_rows_unlink(struct naive_lists *l)
{
    free(l->first);
    free(l->next);
}

static inline void naive_rows_normalise(struct naive_rows *m, int n)
{
    const uint64_t rank = (uint64_t)m->rank;
    for (uint64_t r = 0; r < rank; r++) {
        long double sum = 0;
        for (uint64_t i = 0; i < m->shape.dims[n]; i++)
            sum += m->a[n][i * rank + r] * m->a[n][i * rank + r];
        m->lambda[r] = sqrtl(sum);
        for (uint64_t i = 0; i < m->shape.dims[n]; i++)
            m->a[n][i * rank + r] /= sum > 0 ? m->lambda[r] : 1;
    }
}

/* Makes columns of length 1, and lambda of their lengths. */
typedef void naive_rows_lengths(struct naive_rows *m, int n);

/* The model k, with columns of length 1. */
static inline void naive_rows_take(struct naive_rows *m, const struct ktensor *k,
                                   naive_rows_lengths *normalise)
{
    long double lambda[NAIVE_ROWS_RANK] = {0};
    *m = (struct naive_rows){.shape = k->shape, .rank = (int)k->rank};
    for (int r = 0; r < m->rank; r++)
        lambda[r] = k->lambda[r];
    for (int n = 0; n < k->shape.order; n++) {
        m->a[n] = malloc(k->shape.dims[n] * k->rank * sizeof *m->a[n]);
        for (uint64_t e = 0; e < k->shape.dims[n] * k->rank; e++)
            m->a[n][e] = k->factor[n][e];
        normalise(m, n);
        for (int r = 0; r < m->rank; r++)
            lambda[r] *= m->lambda[r];
    }
    memcpy(m->lambda, lambda, sizeof lambda);
}

/* The model k, with its weights multiplied so that the known listed entries of the model have the
 * norm of those of x. */
static inline void naive_rows_create(struct naive_rows *m, const struct ktensor *k,
                                     const struct coo *x)
{
    long double of_x = 0, of_model = 0;
    uint32_t at[MAX_ORDER];
    naive_rows_take(m, k, naive_rows_normalise);
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const long double value = x->value[i], model = naive_row_value(m, at);
        of_x += isnan(x->value[i]) ? 0 : value * value;
        of_model += isnan(x->value[i]) ? 0 : model * model;
    }
    for (int r = 0; r < m->rank; r++)
        m->lambda[r] *= sqrtl(of_x / of_model);
}

static inline void naive_rows_free(struct naive_rows *m)
{
    for (int n = 0; n < m->shape.order; n++)
        free(m->a[n]);
}

/* V(r,s) of the other modes' Grams. */
static inline long double naive_rows_v(const struct naive_rows *m, int mode, int r, int s)
{
    long double product = 1;
    for (int n = 0; n < m->shape.order; n++) {
        long double sum = 0;
        for (uint64_t i = 0; n != mode && i < m->shape.dims[n]; i++)
            sum += m->a[n][i * (uint64_t)m->rank + (uint64_t)r] *
                   m->a[n][i * (uint64_t)m->rank + (uint64_t)s];
        product *= n == mode ? 1 : sum;
    }
    return product;
}

/* The ridge of component r in a row with `known` known entries. */
static inline long double naive_rows_ridge(const struct naive_rows *m, const struct problem *p,
                                           int mode, int r, long double known)
{
    const long double ridge = p->rules.ridge[mode], order = m->shape.order;
    if (p->ridge_scale == RIDGE_COUNTED)
        return ridge * known;
    return p->ridge_scale == RIDGE_UNIT ? ridge
                                        : ridge * powl(m->lambda[r], -2 * (order - 1) / order);
}

/* One row: h (R x R) and b (R), which becomes the solution. */
static inline void naive_rows_solve(long double h[][NAIVE_ROWS_RANK], long double *b, int rank)
{
    for (int k = 0; k < rank; k++) {
        int pivot = k;
        for (int i = k + 1; i < rank; i++)
            pivot = fabsl(h[i][k]) > fabsl(h[pivot][k]) ? i : pivot;
        for (int j = 0; j < rank; j++) {
            const long double swap = h[k][j];
            h[k][j] = h[pivot][j];
            h[pivot][j] = swap;
        }
        const long double swap = b[k];
        b[k] = b[pivot];
        b[pivot] = swap;
        for (int i = k + 1; i < rank; i++) {
            const long double f = h[i][k] / h[k][k];
            for (int j = k; j < rank; j++)
                h[i][j] -= f * h[k][j];
            b[i] -= f * b[k];
        }
    }
    for (int k = rank; k-- > 0;) {
        for (int j = k + 1; j < rank; j++)
            b[k] -= h[k][j] * b[j];
        b[k] /= h[k][k];
    }
}

/* One row: x (R), which is nonnegative, becomes a better one. */
static inline void naive_rows_improve(long double h[][NAIVE_ROWS_RANK], const long double *b,
                                      int rank, long double *x)
{
    long double v[NAIVE_ROWS_RANK * NAIVE_ROWS_RANK], least[NAIVE_ROWS_RANK] = {0};
    for (int r = 0; r < rank; r++)
        for (int s = 0; s < rank; s++)
            v[r * rank + s] = h[r][s];
    naive_hals(x, b, v, least, 1, (uint64_t)rank, ROW_PASSES, false);
}

/* Solves every row of a mode, or improves it where it is nonnegative; unlisted entries have the
 * weight `unlisted`. */
static inline void naive_rows_update(struct naive_rows *m, const struct coo *x,
                                     const struct problem *p, int mode, long double unlisted)
{
    const int rank = m->rank;
    long double v[NAIVE_ROWS_RANK][NAIVE_ROWS_RANK], z[NAIVE_ROWS_RANK];
    for (int r = 0; r < rank; r++)
        for (int s = 0; s < rank; s++)
            v[r][s] = naive_rows_v(m, mode, r, s);
    struct naive_lists l = naive_rows_link(x, mode);
    for (uint64_t row = 0; row < m->shape.dims[mode]; row++) {
        long double h[NAIVE_ROWS_RANK][NAIVE_ROWS_RANK], b[NAIVE_ROWS_RANK] = {0}, known = 0;
        long double *to = m->a[mode] + row * (uint64_t)rank, old[NAIVE_ROWS_RANK];
        for (int r = 0; r < rank; r++) {
            old[r] = to[r] * m->lambda[r];
            for (int s = 0; s < rank; s++)
                h[r][s] = unlisted * v[r][s];
        }
        for (uint64_t e = l.first[row]; e > 0; e = l.next[e - 1]) {
            const uint64_t i = e - 1;
            const long double weight = isnan(x->value[i]) ? 0 : 1;
            known += weight;
            for (int r = 0; r < rank; r++) {
                z[r] = 1;
                for (int n = 0; n < m->shape.order; n++)
                    z[r] *= n == mode
                                ? 1
                                : m->a[n][(uint64_t)x->index[n][i] * (uint64_t)rank + (uint64_t)r];
                b[r] += weight > 0 ? x->value[i] * z[r] : 0;
            }
            for (int r = 0; r < rank; r++)
                for (int s = 0; s <= r; s++)
                    h[r][s] += (weight - unlisted) * z[r] * z[s];
        }
        for (int r = 0; r < rank; r++)
            for (int s = 0; s < r; s++)
                h[s][r] = h[r][s];
        for (int r = 0; r < rank; r++)
            h[r][r] += naive_rows_ridge(m, p, mode, r, known);
        const bool nonneg = known > 0 && p->rules.nonneg[mode];
        if (nonneg)
            naive_rows_improve(h, b, rank, old);
        else if (known > 0)
            naive_rows_solve(h, b, rank);
        memcpy(to, nonneg ? old : b, (size_t)rank * sizeof *to);
    }
    naive_rows_unlink(&l);
    naive_rows_normalise(m, mode);
}

/* The sum of v (x - m)^2 over listed entries, and of unlisted m^2 over all others. */
static inline long double naive_rows_misfit(const struct naive_rows *m, const struct coo *x,
                                            long double unlisted)
{
    uint32_t at[MAX_ORDER];
    long double sum = 0;
    for (int r = 0; unlisted > 0 && r < m->rank; r++)
        for (int s = 0; s < m->rank; s++)
            sum += unlisted * m->lambda[r] * m->lambda[s] * naive_rows_v(m, -1, r, s);
    for (uint64_t i = 0; i < x->nnz; i++) {
        naive_rows_at(x, i, at);
        const long double y = naive_row_value(m, at), e = x->value[i] - y;
        sum += (isnan(x->value[i]) ? 0 : e * e) - unlisted * y * y;
    }
    return sum;
}
