/* Tensors of values that are far from 1, on every backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backend/value_scale.h"
#include "base/memory.h"
#include "support/assert_near.h"
#include "support/backends.h"

/* An iteration from the same start on the tensor times 2^exponent; *k is the model afterwards. */
static void iterate_scaled(const struct backend_kind *kind, struct coo *x, int exponent,
                           double *fit, struct ktensor *k)
{
    struct error error = {0};
    struct backend_fit found;
    struct backend b;
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = ldexp(x->value[i], exponent);
    create_model(k, x, 2, 1);
    open_backend(&b, kind, x, 2, CONFLICT_AUTO);
    assert_int_equal(backend_load(&b, k, &error), STATUS_OK);
    for (int n = 0; n < 3; n++) {
        assert_int_equal(backend_mttkrp(&b, n, &error), STATUS_OK);
        assert_int_equal(backend_update(&b, n, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(&b, 2, NULL, &found, &error), STATUS_OK);
    *fit = found.value;
    assert_int_equal(backend_store(&b, k, &error), STATUS_OK);
    backend_close(&b);
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = ldexp(x->value[i], -exponent);
}

/* Values beyond 1e154 and below 1e-154, whose squares no double holds, give the model of the same
 * values near 1, to the last bit, and weights times the power of two. */
static void test_scaled_values(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {5, 6, 7};
    static const int exponent[] = {1000, 600, 290, -290, -600, -1000};
    struct coo x;
    struct ktensor plain, scaled;
    double fit, other;
    naive_random_coo(&x, SHAPE(3, dims), 60, 3, 0);
    iterate_scaled(kind, &x, 0, &fit, &plain);
    for (size_t i = 0; i < sizeof exponent / sizeof *exponent; i++) {
        iterate_scaled(kind, &x, exponent[i], &other, &scaled);
        assert_near(other, fit);
        for (int n = 0; n < 3; n++)
            for (uint64_t j = 0; j < dims[n] * 2; j++)
                assert_near(scaled.factor[n][j], plain.factor[n][j]);
        for (int r = 0; r < 2; r++)
            assert_near(ldexp(scaled.lambda[r], -exponent[i]), plain.lambda[r]);
        ktensor_free(&scaled);
    }
    ktensor_free(&plain);
    coo_free(&x);
}

/* Five sweeps of a nonnegative model, from a start whose weights are 1, on the tensor times
 * 2^exponent. */
static void iterate_nonneg(const struct backend_kind *kind, struct coo *x,
                           enum precision_policy precision, int exponent, struct ktensor *k)
{
    struct error error = {0};
    struct backend_fit found;
    struct backend b;
    const struct backend_options options = {
        .problem = {.rank = 3, .precision = precision, .rules.nonneg = {true, true, true}}};
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = ldexp(x->value[i], exponent);
    assert_int_equal(ktensor_create(k, &x->shape, 3, &error), STATUS_OK);
    assert_int_equal(backend_open(&b, kind, x, &options, NULL, &error), STATUS_OK);
    assert_int_equal(backend_randomise(&b, KTENSOR_RANDOM, 2, &error), STATUS_OK);
    for (int n = 0; n < 15; n++) {
        assert_int_equal(backend_mttkrp(&b, n % 3, &error), STATUS_OK);
        assert_int_equal(backend_update(&b, n % 3, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(&b, 2, NULL, &found, &error), STATUS_OK);
    assert_true(found.value > .1);
    assert_int_equal(backend_store(&b, k, &error), STATUS_OK);
    backend_close(&b);
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = ldexp(x->value[i], -exponent);
}

/* What becomes of the entries of a nonnegative model does not depend on the unit of the values, the
 * smallest doubles included. */
static void test_nonnegative_units(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {5, 6, 7};
    static const int exponent[] = {900, 100, 40, -40, -100, -600, -1050};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 60, 3, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = (double)(1 + i * i % 7);
    for (int single = 0; single < 2; single++) {
        const enum precision_policy precision = single ? POLICY_SINGLE : POLICY_DOUBLE;
        const double bound = single ? 1e-5 : 1e-12;
        struct ktensor plain, scaled;
        iterate_nonneg(kind, &x, precision, 0, &plain);
        for (size_t i = 0; i < sizeof exponent / sizeof *exponent; i++) {
            iterate_nonneg(kind, &x, precision, exponent[i], &scaled);
            for (int n = 0; n < 3; n++)
                for (uint64_t j = 0; j < dims[n] * 3; j++)
                    assert_true(fabs(scaled.factor[n][j] - plain.factor[n][j]) <= bound);
            for (int r = 0; r < 3; r++)
                assert_true(fabs(ldexp(scaled.lambda[r], -exponent[i]) - plain.lambda[r]) <=
                            bound * plain.lambda[r] + ldexp(1, -1074 - exponent[i]));
            ktensor_free(&scaled);
        }
        ktensor_free(&plain);
    }
    coo_free(&x);
}

/* A weight that is too large for a double is an error; M is as it is without a scale. */
static void test_weight_beyond_doubles(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {30, 40};
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    struct backend b;
    double m[60];
    struct backend_fit fit;
    naive_random_coo(&x, SHAPE(2, dims), 200, 3, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = DBL_MAX;
    create_model(&k, &x, 2, 1);
    open_backend(&b, kind, &x, 2, CONFLICT_AUTO);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    assert_int_equal(backend_mttkrp(&b, 0, &error), STATUS_OK);
    assert_int_equal(backend_fetch(&b, 0, m, &error), STATUS_NUMERICAL);
    error = (struct error){0};
    for (int n = 0; n < 2; n++) {
        assert_int_equal(backend_mttkrp(&b, n, &error), STATUS_OK);
        assert_int_equal(backend_update(&b, n, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(&b, 1, NULL, &fit, &error), STATUS_OK);
    assert_true(fit.value > 0 && fit.value < 1);
    assert_int_equal(backend_store(&b, &k, &error), STATUS_NUMERICAL);
    assert_non_null(strstr(error.message, "a weight of the model is more than a double holds"));
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

/* The scale is that of the known values; unknown entries stay unknown, also where all are. */
static void test_unknown_entries(void **state)
{
    (void)state;
    double value[] = {-COO_UNKNOWN, 3e200, COO_UNKNOWN, -1e200};
    struct coo x = {.nnz = 4, .value = value}, scaled;
    struct error error = {0};
    struct comm *self = comm_self(&error);
    int exponent;
    assert_int_equal(value_scale_apply(&scaled, &exponent, &x, self, &error), STATUS_OK);
    assert_true(scaled.value[1] >= 0.5 && scaled.value[1] < 1);
    assert_true(scaled.value[3] == ldexp(-1e200, -exponent));
    assert_true(isnan(scaled.value[0]) && isnan(scaled.value[2]));
    memory_free(scaled.value);
    value[1] = value[3] = COO_UNKNOWN;
    assert_int_equal(value_scale_apply(&scaled, &exponent, &x, self, &error), STATUS_OK);
    assert_int_equal(exponent, 0);
    assert_int_equal(coo_count_listed(&scaled).unknown, 4);
    memory_free(scaled.value);
    comm_finalize(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_scaled_values),
        ON_ALL(test_nonnegative_units),
        ON_ALL(test_weight_beyond_doubles),
        cmocka_unit_test(test_unknown_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
