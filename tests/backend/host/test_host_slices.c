#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "backend/host/host_slices.h"
#include "base/memory.h"
#include "support/lines.h"
#include "support/naive.h"

static struct blco ordering_of(const struct coo *x, int mode, struct blco_options cut)
{
    struct error error = {0};
    struct blco b;
    cut.kind = mode;
    assert_int_equal(blco_build(&b, x, &cut, &error), STATUS_OK);
    return b;
}

/* The slices of a mode have the nonzeros of the ordering, in the ordering's order. */
static void check_mode(const struct coo *x, int mode, struct blco_options cut)
{
    struct error error = {0};
    struct blco b = ordering_of(x, mode, cut), again = ordering_of(x, mode, cut);
    struct host_slices s;
    assert_int_equal(host_slices_take(&s, &again, mode, &error), STATUS_OK);
    assert_null(again.value);
    assert_int_equal(s.nnz, x->nnz);
    assert_int_equal(s.mode, mode);
    assert_null(s.coordinate[mode]);
    uint64_t slice = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t coordinate[MAX_ORDER], row;
        decode_nonzero(&b, blco_block_of(&b, i), i, coordinate);
        slice += i == s.end[slice];
        assert_int_equal(host_slices_of(&s, i), slice);
        host_slices_rows(&s, i, 1, &row);
        assert_int_equal(row, coordinate[mode]);
        assert_int_equal(s.row[slice], coordinate[mode]);
        assert_true(s.value[i] == b.value[i]);
        for (int n = 0; n < x->shape.order; n++)
            if (n != mode)
                assert_int_equal(s.coordinate[n][i], coordinate[n]);
    }
    assert_int_equal(s.count, x->nnz == 0 ? 0 : slice + 1);
    for (uint64_t k = 0; k < s.count; k++) {
        assert_true(k == 0 || s.row[k] > s.row[k - 1]);
        assert_true(s.end[k] > (k == 0 ? 0 : s.end[k - 1]));
    }
    assert_true(s.count == 0 || s.end[s.count - 1] == x->nnz);
    host_slices_free(&s);
    blco_free(&b);
}

static void check(const struct coo *x)
{
    static const struct blco_options cuts[] = {
        {.index_bits = 0}, {.index_bits = 6}, {.index_bits = 11}, {.index_bits = 128}};
    for (int n = 0; n < x->shape.order; n++)
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
            check_mode(x, n, cuts[i]);
}

static void test_orderings(void **state)
{
    (void)state;
    const uint64_t dims[] = {40, 300, 7, 25, 3};
    const uint64_t counts[] = {0, 1, 2, 255, 7000};
    for (int order = 1; order <= 5; order++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            struct coo x;
            uint64_t cells = 1;
            for (int n = 0; n < order; n++)
                cells *= dims[n];
            naive_random_coo(&x, SHAPE(order, dims), counts[i] < cells ? counts[i] : cells / 2, i,
                             order % 2);
            check(&x);
            coo_free(&x);
        }
}

/* The rows of a stretch that begins and ends within slices. */
static void test_rows(void **state)
{
    (void)state;
    const uint64_t dims[] = {9, 50, 50};
    struct error error = {0};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 1, 0);
    struct blco b = ordering_of(&x, 0, (struct blco_options){0});
    struct host_slices s;
    assert_int_equal(host_slices_take(&s, &b, 0, &error), STATUS_OK);
    uint32_t all[3000], some[1000];
    const uint64_t nnz = s.nnz; /* 3000, less those that met */
    assert_in_range(nnz, 2000, 3000);
    host_slices_rows(&s, 0, nnz, all);
    host_slices_rows(&s, 777, 1000, some);
    assert_memory_equal(some, all + 777, sizeof some);
    assert_int_equal(all[0], s.row[0]);
    assert_int_equal(all[nnz - 1], s.row[s.count - 1]);
    host_slices_free(&s);
    coo_free(&x);
}

/* Rounds the values to whole numbers. */
static void round_values(struct coo *x)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = (double)(int)(100 * x->value[i]);
}

/* Slices that can be narrow have the same nonzeros after that; others stay as they were. */
static void check_narrow(const struct coo *x, int mode, bool expected)
{
    struct error error = {0};
    struct blco b = ordering_of(x, mode, (struct blco_options){0}),
                again = ordering_of(x, mode, (struct blco_options){0});
    struct host_slices wide, s;
    assert_int_equal(host_slices_take(&wide, &b, mode, &error), STATUS_OK);
    assert_int_equal(host_slices_take(&s, &again, mode, &error), STATUS_OK);
    assert_int_equal(host_slices_narrow(&s, &error), STATUS_OK);
    assert_int_equal(s.narrow, expected);
    assert_int_equal(s.narrow, !s.value);
    for (uint64_t first = 0; first < x->nnz; first += 100) {
        const uint64_t count = x->nnz - first < 100 ? x->nnz - first : 100;
        double value[100];
        uint32_t coordinate[100];
        host_slices_values(&s, first, count, value);
        assert_memory_equal(value, wide.value + first, count * sizeof *value);
        for (int n = 0; n < x->shape.order; n++) {
            if (n == mode)
                continue;
            assert_int_equal(s.narrow, !s.coordinate[n]);
            host_slices_coordinates(&s, n, first, count, coordinate);
            assert_memory_equal(coordinate, wide.coordinate[n] + first, count * sizeof *coordinate);
        }
    }
    host_slices_free(&s);
    host_slices_free(&wide);
}

static void test_narrow(void **state)
{
    (void)state;
    const uint64_t dims[] = {65536, 9, 65537};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 1, 0);
    for (int n = 0; n < 3; n++)
        check_narrow(&x, n, false);
    round_values(&x);
    x.index[0][17] = 65535;
    check_narrow(&x, 0, false); /* mode 3 is too long */
    check_narrow(&x, 1, false);
    check_narrow(&x, 2, true);
    x.value[2999] = 16777217; /* no float */
    check_narrow(&x, 2, false);
    x.value[2999] = -16777216;
    check_narrow(&x, 2, true);
    x.value[5] = NAN;
    check_narrow(&x, 2, false);
    coo_free(&x);
}

/* What host_slices_bytes promises to the memory plan is what the arrays take. */
static void test_bytes(void **state)
{
    (void)state;
    assert_int_equal(host_slices_bytes(3, 1000, 10), 1000 * (2 * 4 + 8) + 10 * 12);
    assert_int_equal(host_slices_bytes(5, 10, 1000), 10 * (4 * 4 + 8) + 10 * 12);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    const uint64_t dims[] = {30, 20, 10};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 500, 1, 0);
    round_values(&x);
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct host_slices s;
        struct blco b = ordering_of(&x, 1, (struct blco_options){0});
        memory_hook_set(k);
        enum status status = host_slices_take(&s, &b, 1, &error);
        if (status == STATUS_OK)
            status = host_slices_narrow(&s, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_null(b.value);
        assert_true(!fired || (!s.value && !s.narrow_value && s.nnz == 0));
        failures += (int)fired;
        host_slices_free(&s);
    }
    assert_int_equal(failures, 7); /* rows, ends, two other modes; narrow values and two modes */
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orderings),        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_narrow),           cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
