/* Rotated columns: MTTKRPs see them, updates refuse them, and the next load ends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/backends.h"

static void rotate_naively(struct ktensor *k, int n)
{
    for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
        double *row = k->factor[n] + i * k->rank, last = row[k->rank - 1];
        for (uint64_t r = k->rank - 1; r > 0; r--)
            row[r] = row[r - 1];
        row[0] = last;
    }
}

/* MTTKRP of `mode` is that of the model k. */
static void check_mttkrp(struct backend *b, const struct coo *x, const struct ktensor *k, int mode,
                         long double tolerance)
{
    struct error error = {0};
    uint64_t entries = k->shape.dims[mode] * k->rank;
    double *m = memory_array(entries, sizeof *m, &error);
    long double *expected = memory_array(entries, sizeof *expected, &error);
    assert_true(m && expected);
    naive_mttkrp(x, k, mode, expected);
    assert_int_equal(backend_mttkrp(b, mode, &error), STATUS_OK);
    assert_int_equal(backend_fetch(b, mode, m, &error), STATUS_OK);
    assert_true(naive_relative_error(m, expected, entries) < tolerance);
    memory_free(expected);
    memory_free(m);
}

static void check_rotations(const struct backend_kind *kind, const struct coo *x,
                            const struct backend_options *setting)
{
    struct error error = {0};
    struct backend b;
    struct ktensor k;
    long double tolerance = setting->problem.precision == POLICY_SINGLE ? 1e-5L : 1e-12L;
    create_model(&k, x, setting->problem.rank, 3);
    if (backend_open(&b, kind, x, setting, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    for (int turn = 0; turn < 2; turn++)
        for (int n = 0; n < b.order; n++) {
            assert_int_equal(backend_rotate(&b, n, &error), STATUS_OK);
            rotate_naively(&k, n);
            for (int mode = 0; mode < b.order; mode++)
                check_mttkrp(&b, x, &k, mode, tolerance);
        }
    backend_close(&b);
    ktensor_free(&k);
}

static void test_rotations(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case cases[] = {
        {2, {40, 35}, 300, 0}, {3, {60, 1, 90}, 1500, 1}, {4, {17, 5, 90, 33}, 2500, 0}};
    static const uint64_t ranks[] = {1, 5, 32};
    for (size_t c = 0; c < 3; c++)
        for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++)
            for (int single = 0; single <= 1; single++) {
                struct backend_options setting = {.problem.rank = ranks[c]};
                struct coo x;
                setting.problem.precision = single ? POLICY_SINGLE : POLICY_DOUBLE;
                naive_random_coo(&x, SHAPE(cases[c].order, cases[c].dims), cases[c].nnz, c,
                                 cases[c].skewed);
                if (set_flow(&setting, flow, kind, &x))
                    check_rotations(kind, &x, &setting);
                coo_free(&x);
            }
}

/* The Grams are those of the columns before. */
static void test_no_update(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct backend b;
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, &(struct shape){3, {10, 9, 8}}, 200, 1, 0);
    open_backend(&b, kind, &x, 3, CONFLICT_AUTO);
    create_model(&k, &x, 3, 1);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    assert_int_equal(backend_rotate(&b, 1, &error), STATUS_OK);
    assert_int_equal(backend_mttkrp(&b, 0, &error), STATUS_OK);
    assert_int_equal(backend_update(&b, 0, &error), STATUS_INTERNAL);
    error = (struct error){0};
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    assert_int_equal(backend_mttkrp(&b, 0, &error), STATUS_OK);
    assert_int_equal(backend_update(&b, 0, &error), STATUS_OK);
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_ALL(test_rotations), ON_ALL(test_no_update)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
