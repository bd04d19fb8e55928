/* Numbers that follow from measurements, and quartiles, against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "support/assert_near.h"

static void test_floor(void **state)
{
    (void)state;
    /* 3 + 5 + 12 bits and 4 bytes of a value; no mode gathers all rows of the third */
    struct bench_result r = {.shape.order = 3, .shape.dims = {8, 20, 4000}, .nnz = 1000, .rank = 4};
    r.rates = (struct backend_rates){.copy_bytes_per_second = 100, .cache_bytes_per_second = 1000};
    assert_near(bench_gathered_bytes(&r), 1000 * 2 * 4 * 8);
    assert_near(bench_floor(&r, 0).cache, 64000 / 1000.0);
    assert_near(bench_floor(&r, 0).memory, (6500 + 8 * 32 + 20 * 32 + 1000 * 32) / 100.0);
    assert_near(bench_floor(&r, 2).memory, (6500 + 8 * 32 + 20 * 32 + 4000 * 32) / 100.0);
    assert_near(bench_floor(&r, 2).seconds, bench_floor(&r, 2).memory);
    assert_string_equal(bench_floor(&r, 2).name, "memory");
    r.rates.copy_bytes_per_second = 1e6;
    assert_near(bench_floor(&r, 2).seconds, 64);
    assert_string_equal(bench_floor(&r, 2).name, "cache");
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

static void assert_statistics(const double *sample, uint64_t count, double least, double lower,
                              double median, double upper, double most)
{
    struct error error = {0};
    struct bench_statistics s;
    assert_int_equal(bench_statistics(sample, count, &s, &error), STATUS_OK);
    assert_near(s.least, least);
    assert_near(s.lower, lower);
    assert_near(s.median, median);
    assert_near(s.upper, upper);
    assert_near(s.most, most);
}

static void test_statistics(void **state)
{
    (void)state;
    const double one[] = {3}, two[] = {5, 1}, odd[] = {9, 1, 7, 3, 5};
    const double even[] = {4, 1, 3, 2}, equal[] = {2, 2, 2}, outlier[] = {1, 1, 1, 1, 1, 1, 1, 100};
    assert_statistics(one, 1, 3, 3, 3, 3, 3);
    assert_statistics(two, 2, 1, 2, 3, 4, 5);
    assert_statistics(odd, 5, 1, 3, 5, 7, 9);
    assert_statistics(even, 4, 1, 1.75, 2.5, 3.25, 4);
    assert_statistics(equal, 3, 2, 2, 2, 2, 2);
    assert_statistics(outlier, 8, 1, 1, 1, 1, 100);
    assert_int_equal(odd[0], 9); /* the samples are not reordered */
}

static void test_allocation_fails(void **state)
{
    (void)state;
    const double sample[] = {2, 1};
    struct error error = {0};
    struct bench_statistics s;
    memory_hook_set(0);
    assert_int_equal(bench_statistics(sample, 2, &s, &error), STATUS_MEMORY);
    memory_hook_set(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_transfer),
        cmocka_unit_test(test_als_seconds),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
