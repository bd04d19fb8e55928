/* Numbers that follow from measurements, against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/bench_derived.h"
#include "support/assert_near.h"

static void test_floor(void **state)
{
    (void)state;
    /* 3 + 5 + 12 bits and 4 bytes of a value; no mode gathers all rows of the third */
    struct bench_result r = {.shape.order = 3, .shape.dims = {8, 20, 4000}, .nnz = 1000, .rank = 4};
    r.rates = (struct backend_rates){.copy_bytes_per_second = 100, .cache_bytes_per_second = 1000};
    assert_near(bench_gathered_bytes(&r), 1000 * 2 * 4 * 8);
    assert_near(bench_floor_of(&r, 0).cache, 64000 / 1000.0);
    assert_near(bench_floor_of(&r, 0).memory, (6500 + 8 * 32 + 20 * 32 + 1000 * 32) / 100.0);
    assert_near(bench_floor_of(&r, 2).memory, (6500 + 8 * 32 + 20 * 32 + 4000 * 32) / 100.0);
    assert_near(bench_floor_seconds(&r, 2), bench_floor_of(&r, 2).memory);
    assert_string_equal(bench_floor_name(&r, 2), "memory");
    r.rates.copy_bytes_per_second = 1e6;
    assert_near(bench_floor_seconds(&r, 2), 64);
    assert_string_equal(bench_floor_name(&r, 2), "cache");
}

static void test_transfer(void **state)
{
    (void)state;
    const struct bench_result r = {.nnz = 1000, .rates = {.upload_bytes_per_second = 64e3}};
    assert_near(bench_transfer(&r), 0.25);
}

static void test_als_seconds(void **state)
{
    (void)state;
    struct bench_als als = {0};
    als.operation[OP_MTTKRP][0] = 1;
    als.operation[OP_MTTKRP][MAX_ORDER - 1] = 2;
    als.operation[OP_FIT][1] = 4;
    assert_near(bench_als_seconds(&als, OP_MTTKRP), 3);
    assert_near(bench_als_seconds(&als, OP_FIT), 4);
    assert_true(bench_als_seconds(&als, OP_UPDATE) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_transfer),
        cmocka_unit_test(test_als_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
