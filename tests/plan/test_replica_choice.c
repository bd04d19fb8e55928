#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/replica_choice.h"

/* The number of sweeps of these seconds after which to build; 0: not within `most` sweeps. */
static int sweeps_until(struct replica_choice c, const double *seconds, int most)
{
    for (int sweep = 1; sweep <= most; sweep++)
        if (replica_choice_sweep(&c, seconds))
            return sweep;
    return 0;
}

static void test_known_number_of_iterations(void **state)
{
    (void)state;
    static const double seconds[2] = {10, 10}; /* each gains at most 3 */
    struct replica_choice c = {.order = 2, .build_seconds = 60};
    c.iterations = 21; /* twenty to come: half of them gain 10 * 6 seconds */
    assert_int_equal(sweeps_until(c, seconds, 30), 1);
    c.iterations = 20;
    assert_int_equal(sweeps_until(c, seconds, 9), 0);
    c.build_seconds = 0;
    assert_int_equal(sweeps_until(c, seconds, 1), 1);
}

static void test_what_was_lost(void **state)
{
    (void)state;
    static const double seconds[2] = {10, 10};
    struct replica_choice c = {.order = 2, .build_seconds = 59};
    assert_int_equal(sweeps_until(c, seconds, 30), 10);
    c.iterations = 5; /* ALS that goes on after them has lost as much */
    assert_int_equal(sweeps_until(c, seconds, 30), 10);
}

static void test_bound_by_the_bus(void **state)
{
    (void)state;
    static const double seconds[3] = {10, 10, 10};
    struct replica_choice c = {
        .order = 3, .iterations = 1000000, .build_seconds = 0, .bus_seconds = {10, 12, 10}};
    assert_int_equal(sweeps_until(c, seconds, 100), 0);
    c.bus_seconds[1] = 9; /* one second a sweep */
    c.build_seconds = 400000;
    assert_int_equal(sweeps_until(c, seconds, 100), 1);
    c.build_seconds = 500001;
    assert_int_equal(sweeps_until(c, seconds, 100), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_number_of_iterations),
        cmocka_unit_test(test_what_was_lost),
        cmocka_unit_test(test_bound_by_the_bus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
