/* The oracle of what components explain: sums over all cells, straight from the definition
 * (numerics/row_term.h). The tensor must have few cells. */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "model/ktensor.h"
#include "problem/problem.h"
#include "tensor/coo.h"

/* The value of component r at these coordinates. */
static inline long double naive_component(const struct ktensor *k, uint64_t r, const uint64_t *at)
{
    long double product = k->lambda[r];
    for (int n = 0; n < k->shape.order; n++)
        product *= k->factor[n][at[n] * k->rank + r];
    return product;
}

/* Fails the test unless explained and lost (R) are those of the components of k. An error may have
 * the part `tolerance` of the sum of the terms' magnitudes. */
static inline void assert_components(const struct coo *x, const struct ktensor *k,
                                     const struct problem *p, const double *explained,
                                     const double *lost, long double tolerance)
{
    const bool rates = problem_has_rates(p);
    const int order = k->shape.order;
    uint64_t cells = 1;
    for (int n = 0; n < order; n++)
        cells *= k->shape.dims[n];
    double *value = calloc(cells, sizeof *value);
    bool *listed = calloc(cells, sizeof *listed);
    assert_true(value && listed);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t cell = 0;
        for (int n = 0; n < order; n++)
            cell = cell * k->shape.dims[n] + x->index[n][i];
        value[cell] = x->value[i];
        listed[cell] = true;
    }
    for (uint64_t r = 0; r < k->rank; r++) {
        long double total = 0, alone = 0, without = 0, size = 0;
        for (uint64_t c = 0; c < cells; c++) {
            const long double h = p->unlisted.weighed ? p->unlisted.weight : 1, v = value[c];
            const long double w = isnan(value[c]) ? 0 : listed[c] ? 1 : h;
            uint64_t at[MAX_ORDER];
            long double m = 0;
            if (w == 0)
                continue;
            for (uint64_t n = (uint64_t)order, rest = c; n-- > 0; rest /= k->shape.dims[n])
                at[n] = rest % k->shape.dims[n];
            for (uint64_t s = 0; s < k->rank; s++)
                m += naive_component(k, s, at);
            const long double y = naive_component(k, r, at), e = v - m;
            total += rates ? v : w * v * v;
            alone += rates ? (v > 0 ? v * y / m : 0) : w * (v * v - (v - y) * (v - y));
            without += w * ((e + y) * (e + y) - e * e);
            size += rates ? v : w * (v * v + y * y + fabsl(m * y));
        }
        if (!(fabsl(explained[r] - alone / total) <= tolerance * size / total) ||
            !(rates ? isnan(lost[r])
                    : fabsl(lost[r] - without / total) <= tolerance * size / total))
            fail_msg("order %d, component %d of %d, weight %g, loss %d: explained %.17g, expected "
                     "%.17Lg; lost %.17g, expected %.17Lg; size %Lg",
                     order, (int)r + 1, (int)k->rank, p->unlisted.weighed ? p->unlisted.weight : 1,
                     (int)p->loss, explained[r], alone / total, lost[r], without / total,
                     size / total);
    }
    free(value);
    free(listed);
}

/* One of the ways in which entries count, for a model of a tensor with these values: zeros, unknown
 * entries among the listed ones, unlisted ones that are unknown or weigh less, and counts. Changes
 * the values of x. */
enum { COMPONENT_CASES = 7 };
static inline void make_component_case(int which, struct coo *x, struct problem *p)
{
    const bool counts = which >= 4;
    p->unlisted.weighed = which > 0;
    p->unlisted.weight = (double[COMPONENT_CASES]){0, 1, 0, .3, 1, 0, .3}[which];
    p->loss = counts ? LOSS_POISSON : LOSS_SQUARES;
    for (int n = 0; n < MAX_ORDER; n++) {
        p->rules.ridge[n] = which > 0 && !counts ? .01 : 0;
        p->rules.nonneg[n] = counts;
    }
    for (uint64_t i = 0; i < x->nnz; i++)
        if (which > 0 && i % 7 == 3)
            x->value[i] = NAN;
        else if (counts)
            x->value[i] = (double)(i * i % 5);
        else /* floats have them */
            x->value[i] = (double)(float)x->value[i];
}
