/* The oracle of accelerated ALS: sweeps by their definition, in long double, and another
 * implementation of the sequence of numerics/momentum_step.h. Include it after cmocka.h. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numerics/nonneg.h"
#include "problem/problem.h"
#include "support/naive.h"
#include "support/naive_hals.h"

#define NAIVE_MOST_SWEEPS 64

struct naive_run {
    double fit[NAIVE_MOST_SWEEPS]; /* [i]: of the model after sweep i, from 0 */
    bool rejected[NAIVE_MOST_SWEEPS];
    int restarts;
};

/* b (rows x R) = m V^-1, by Gaussian elimination of a V that is positive definite; V is destroyed.
 */
static inline void naive_solve(long double *b, const long double *m, long double *v, uint64_t rows,
                               uint64_t rank)
{
    memcpy(b, m, rows * rank * sizeof *b);
    for (uint64_t p = 0; p < rank; p++)
        for (uint64_t s = p + 1; s < rank; s++) {
            long double share = v[p * rank + s] / v[p * rank + p];
            for (uint64_t r = 0; r < rank; r++)
                v[r * rank + s] -= share * v[r * rank + p];
            for (uint64_t i = 0; i < rows; i++)
                b[i * rank + s] -= share * b[i * rank + p];
        }
    for (uint64_t p = rank; p-- > 0;)
        for (uint64_t i = 0; i < rows; i++) {
            for (uint64_t s = p + 1; s < rank; s++)
                b[i * rank + p] -= b[i * rank + s] * v[s * rank + p];
            b[i * rank + p] /= v[p * rank + p];
        }
}

/* The columns of a (rows x R) as unit columns of factor matrix n; norm (R). */
static inline void naive_unit_columns(struct ktensor *k, int n, const long double *a, double *norm)
{
    for (uint64_t r = 0; r < k->rank; r++) {
        long double square = 0;
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            square += a[i * k->rank + r] * a[i * k->rank + r];
        norm[r] = (double)sqrtl(square);
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            k->factor[n][i * k->rank + r] = (double)(a[i * k->rank + r] / sqrtl(square));
    }
}

static inline void naive_update(const struct coo *x, struct ktensor *k,
                                const struct mode_rules *rules, int n, bool is_first)
{
    uint64_t rows = k->shape.dims[n], rank = k->rank;
    long double *m = calloc(2 * rows * rank + rank * rank + rank, sizeof *m);
    long double *b = m + rows * rank, *v = b + rows * rank, *least = v + rank * rank;
    naive_mttkrp(x, k, n, m);
    naive_v(k, n, rules->ridge[n], v);
    naive_floors(least, &nonneg_floor_double, k->lambda, v, rows, rank);
    for (uint64_t e = 0; e < rows * rank; e++)
        b[e] = (long double)k->factor[n][e] * k->lambda[e % rank];
    if (rules->nonneg[n])
        naive_hals(b, m, v, least, rows, rank, NONNEG_PASSES, is_first);
    else
        naive_solve(b, m, v, rows, rank);
    naive_unit_columns(k, n, b, k->lambda);
    free(m);
}

/* 1 - sqrt(||X - model||^2 + ridge ||lambda||^2) / ||X|| with the ridge of the last mode. */
static inline double naive_objective(const struct coo *x, const struct ktensor *k,
                                     const struct mode_rules *rules)
{
    long double misfit = 1 - naive_fit(x, k), penalty = 0;
    for (uint64_t r = 0; r < k->rank; r++)
        penalty += (long double)k->lambda[r] * k->lambda[r];
    penalty *= rules->ridge[mode_rules_last(rules, k->shape.order)];
    return (double)(1 - sqrtl(misfit * misfit + penalty / (long double)coo_norm_sq(x)));
}

/* Factor matrix n of y becomes (1 + b) of a less b of that of s, of unit columns. */
static inline void naive_extrapolate(struct ktensor *y, const struct ktensor *a,
                                     const struct ktensor *s, int n, double b, bool clip)
{
    uint64_t entries = y->shape.dims[n] * y->rank;
    double *norm = calloc(y->rank, sizeof *norm);
    long double *sum = calloc(entries, sizeof *sum);
    for (uint64_t e = 0; e < entries; e++) {
        sum[e] = (1 + (long double)b) * a->factor[n][e] - (long double)b * s->factor[n][e];
        if (clip && sum[e] < 0)
            sum[e] = 0;
    }
    naive_unit_columns(y, n, sum, norm);
    free(sum);
    free(norm);
}

static inline void naive_copy(struct ktensor *to, const struct ktensor *from)
{
    memcpy(to->lambda, from->lambda, from->rank * sizeof *from->lambda);
    for (int n = 0; n < from->shape.order; n++)
        memcpy(to->factor[n], from->factor[n], from->shape.dims[n] * from->rank * sizeof(double));
}

/* So many sweeps from the model in *k, which receives the result of the last one that was kept.
 */
static inline struct naive_run naive_momentum(const struct coo *x, struct ktensor *k,
                                              const struct mode_rules *rules, int sweeps)
{
    struct error error = {0};
    struct naive_run run = {.restarts = 0};
    struct ktensor y, s; /* what a sweep begins with, and the model before it */
    double t = 1, last = 0;
    bool extrapolated = false, again = false;
    assert_int_equal(ktensor_create(&y, &k->shape, k->rank, &error), STATUS_OK);
    assert_int_equal(ktensor_create(&s, &k->shape, k->rank, &error), STATUS_OK);
    naive_copy(&y, k);
    for (int i = 0; i < sweeps; i++) {
        for (int n = 0, updates = 0; n < k->shape.order; n++)
            if (!rules->fixed[n])
                naive_update(x, &y, rules, n, i == 0 && updates++ == 0);
        double objective = naive_objective(x, &y, rules);
        run.rejected[i] = extrapolated && objective < last - 1e-12;
        if (run.rejected[i]) {
            naive_copy(&y, k);
            t = 1;
            extrapolated = false;
            again = true;
            run.restarts++;
            run.fit[i] = run.fit[i - 1];
            continue;
        }
        const double gain = objective - last, limit = gain > 1e-4 ? .06 / sqrt(gain) : INFINITY;
        last = objective > last || !extrapolated ? objective : last;
        naive_copy(&s, k);
        naive_copy(k, &y);
        run.fit[i] = (double)naive_fit(x, k);
        if (t > limit)
            t = limit > 1 ? limit : 1;
        extrapolated = i + 1 > 5 && !again && limit >= 1;
        again = false;
        if (!extrapolated)
            continue;
        const double b = 1 - 1 / t++;
        for (int n = 0; n < k->shape.order; n++)
            if (!rules->fixed[n])
                naive_extrapolate(&y, k, &s, n, b, rules->nonneg[n]);
    }
    ktensor_free(&y);
    ktensor_free(&s);
    return run;
}
