/* Small tensors that are hard for ALS: without a best model, with components that cancel each
 * other, with saddle points, with many optima. Include it after cmocka.h. */
#pragma once

#include <math.h>

#include "base/random_stream.h"
#include "selftest/known_tensors.h"

#define LONGEST_MODE 16
#define MOST_TERMS   16

/* A sum of outer products, and noise. */
struct degenerate_terms {
    int terms;
    double column[MOST_TERMS][MAX_ORDER][LONGEST_MODE];
    double noise;
};

static inline double uniform_of(struct random_stream *s)
{
    return (double)(random_next(s) >> 11) * 0x1p-53;
}

static inline double normal_of(struct random_stream *s)
{
    const double size = sqrt(-2 * log(1 - uniform_of(s)));
    return size * cos(2 * 3.14159265358979324 * uniform_of(s));
}

static inline uint64_t below(struct random_stream *s, uint64_t limit)
{
    return random_next(s) % limit;
}

enum degenerate_values { VALUES_NORMAL, VALUES_UNIFORM, VALUES_ONES, VALUES_TERMS };

/* The value of a cell; with VALUES_ONES, a fraction of the cells is one. */
static inline double degenerate_value(enum degenerate_values kind, const struct shape *shape,
                                      const uint32_t *at, const struct degenerate_terms *t,
                                      double share, struct random_stream *s)
{
    double sum = 0;
    if (kind == VALUES_NORMAL)
        return normal_of(s);
    if (kind == VALUES_UNIFORM)
        return uniform_of(s);
    if (kind == VALUES_ONES)
        return uniform_of(s) < share;
    for (int k = 0; k < t->terms; k++) {
        double product = 1;
        for (int n = 0; n < shape->order; n++)
            product *= t->column[k][n][at[n]];
        sum += product;
    }
    return sum + t->noise * normal_of(s);
}

static inline void fill_cells(struct coo *x, const struct shape *shape, enum degenerate_values kind,
                              const struct degenerate_terms *t, double share,
                              struct random_stream *s)
{
    struct error error = {0};
    uint64_t cells = 1;
    for (int n = 0; n < shape->order; n++)
        cells *= shape->dims[n];
    assert_int_equal(coo_create(x, shape, cells, &error), STATUS_OK);
    x->nnz = 0;
    for (uint64_t cell = 0; cell < cells; cell++) {
        uint32_t at[MAX_ORDER];
        uint64_t left = cell;
        for (int n = 0; n < shape->order; n++) {
            at[n] = (uint32_t)(left % shape->dims[n]);
            left /= shape->dims[n];
        }
        const double value = degenerate_value(kind, shape, at, t, share, s);
        for (int n = 0; n < shape->order; n++)
            x->index[n][x->nnz] = at[n];
        x->value[x->nnz] = value;
        x->nnz += value != 0;
    }
}

static inline struct shape degenerate_shape(int order, uint64_t least, struct random_stream *s)
{
    struct shape shape = {.order = order};
    for (int n = 0; n < order; n++)
        shape.dims[n] = least + below(s, 6);
    return shape;
}

/* Sums over n of the outer product of b in mode n and a in all others: of border rank 2, but of
 * higher rank (V. de Silva, L.-H. Lim: Tensor rank and the ill-posedness of the best low-rank
 * approximation problem, SIAM J. Matrix Anal. Appl. 30, 2008). */
static inline uint64_t border_terms(struct degenerate_terms *t, int order, struct random_stream *s)
{
    const uint64_t pairs = 1 + below(s, 2);
    double a[MAX_ORDER][LONGEST_MODE], b[MAX_ORDER][LONGEST_MODE];
    t->terms = 0;
    t->noise = below(s, 2) ? 0 : 1e-3 * uniform_of(s);
    for (uint64_t p = 0; p < pairs; p++) {
        for (int n = 0; n < order; n++)
            for (int i = 0; i < LONGEST_MODE; i++) {
                a[n][i] = normal_of(s);
                b[n][i] = normal_of(s);
            }
        for (int k = 0; k < order; k++, t->terms++)
            for (int n = 0; n < order; n++)
                for (int i = 0; i < LONGEST_MODE; i++)
                    t->column[t->terms][n][i] = k == n ? b[n][i] : a[n][i];
    }
    return 2 * pairs;
}

/* Components with nearly equal columns; the rank is their number, one less or one more. */
static inline uint64_t collinear_terms(struct degenerate_terms *t, int order,
                                       struct random_stream *s)
{
    const double common = 1 - pow(10, -1 - 2 * uniform_of(s));
    t->terms = 3 + (int)below(s, 3);
    t->noise = pow(10, -1 - 4 * uniform_of(s));
    for (int n = 0; n < order; n++) {
        double mean[LONGEST_MODE];
        for (int i = 0; i < LONGEST_MODE; i++)
            mean[i] = normal_of(s);
        for (int k = 0; k < t->terms; k++)
            for (int i = 0; i < LONGEST_MODE; i++)
                t->column[k][n][i] = sqrt(common) * mean[i] + sqrt(1 - common) * normal_of(s);
    }
    return (uint64_t)t->terms - 1 + below(s, 3);
}

/* Tensor `number` of the table, which the caller frees with coo_free; returns the number of
 * components to look for. Six kinds of tensors alternate. */
static inline uint64_t degenerate_tensor(struct coo *x, int number)
{
    struct error error = {0};
    struct random_stream s = random_stream_at(1, (uint64_t)number, 0);
    struct degenerate_terms terms = {0};
    const int order = 3 + (int)below(&s, 2);
    struct shape shape;
    uint64_t rank;
    switch (number % 6) {
    case 0:
        rank = number % 12 ? 15 + below(&s, 9) : 5 + below(&s, 3);
        assert_int_equal(known_multiplication(x, number % 12 ? 3 : 2, &error), STATUS_OK);
        return rank;
    case 1:
        shape = degenerate_shape(3, 3, &s);
        fill_cells(x, &shape, VALUES_NORMAL, NULL, 0, &s);
        return 2 + below(&s, 8);
    case 2:
        shape = degenerate_shape(order, 3, &s);
        rank = border_terms(&terms, order, &s);
        fill_cells(x, &shape, VALUES_TERMS, &terms, 0, &s);
        return rank;
    case 3:
        shape = degenerate_shape(order, 5, &s);
        rank = collinear_terms(&terms, order, &s);
        fill_cells(x, &shape, VALUES_TERMS, &terms, 0, &s);
        return rank;
    case 4:
        shape = degenerate_shape(order, 5, &s);
        fill_cells(x, &shape, VALUES_ONES, NULL, 0.05 + 0.2 * uniform_of(&s), &s);
        return 3 + below(&s, 8);
    default:
        shape = degenerate_shape(3, 4, &s);
        fill_cells(x, &shape, VALUES_UNIFORM, NULL, 0, &s);
        return 3 + below(&s, 8);
    }
}
