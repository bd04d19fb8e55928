/* Which slices are in which half. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor/halves.h"

#define SLICES 10000

static void test_odd_and_even(void **state)
{
    (void)state;
    const struct halves h = {.mode = 1};
    for (uint64_t i = 0; i < 9; i++)
        assert_int_equal(halves_of(&h, i), i % 2);
    assert_int_equal(halves_of(&h, UINT64_C(0x100000001)), 1);
}

/* Of each pair of neighbours one is in each half; which one is as good as random, for each seed
 * anew. */
static void test_at_random(void **state)
{
    (void)state;
    const struct halves a = {.mode = 1, .seed = 1}, b = {.mode = 1, .seed = 2};
    int swapped = 0, same = 0, turns = 0;
    for (uint64_t i = 0; i < SLICES; i += 2) {
        assert_int_equal(halves_of(&a, i) + halves_of(&a, i + 1), 1);
        swapped += halves_of(&a, i);
        same += halves_of(&a, i) == halves_of(&b, i);
        turns += halves_of(&a, i) != halves_of(&a, i + 2);
    }
    /* 5000 coins: a standard deviation is 35 */
    assert_in_range(swapped, 2350, 2650);
    assert_in_range(same, 2350, 2650);
    assert_in_range(turns, 2350, 2650);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_and_even),
        cmocka_unit_test(test_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
