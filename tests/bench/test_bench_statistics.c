/* Quartiles of samples, against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "bench/bench_statistics.h"
#include "support/assert_near.h"

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
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
