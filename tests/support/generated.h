/* Synthetic tensors for tests. Include it after cmocka.h. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "generate/generate.h"

static inline void check_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%g, expected %g within %g", value, expected, tolerance);
}

#define PLENTY (UINT64_C(1) << 40) /* of memory */

/* Joins the pieces. */
struct collector {
    struct coo x;
    uint64_t filled;
};

static inline enum status collect(void *context, struct coo *piece, struct error *error)
{
    (void)error;
    struct collector *c = context;
    assert_int_equal(c->filled % GENERATE_PIECE, 0);
    assert_true(piece->nnz <= c->x.nnz - c->filled); /* 1 % of room is left */
    for (int n = 0; n < piece->shape.order; n++)
        memcpy(c->x.index[n] + c->filled, piece->index[n], piece->nnz * sizeof *piece->index[n]);
    memcpy(c->x.value + c->filled, piece->value, piece->nnz * sizeof *piece->value);
    c->filled += piece->nnz;
    return STATUS_OK;
}

static inline struct coo skewed_within(const struct generate_spec *spec, uint64_t seed,
                                       uint64_t memory)
{
    struct error error = {0};
    struct collector c = {.filled = 0};
    const struct generate_run run = {seed, memory, collect, &c, NULL};
    if (coo_create(&c.x, &spec->shape, spec->nnz + spec->nnz / 100, &error) != STATUS_OK ||
        generate_skewed(spec, &run, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    if (spec->nnz <= 262144)
        assert_int_equal(c.filled, spec->nnz);
    assert_true(c.filled >= spec->nnz - spec->nnz / 100);
    c.x.nnz = c.filled;
    return c.x;
}

static inline struct coo skewed(const struct generate_spec *spec, uint64_t seed)
{
    return skewed_within(spec, seed, PLENTY);
}

static inline bool same_tensor(const struct coo *x, const struct coo *y)
{
    bool same = x->nnz == y->nnz && memcmp(x->value, y->value, x->nnz * sizeof *x->value) == 0;
    for (int n = 0; same && n < x->shape.order; n++)
        same = memcmp(x->index[n], y->index[n], x->nnz * sizeof *x->index[n]) == 0;
    return same;
}
