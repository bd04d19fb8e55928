/* Which rank is suggested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "als/rank_choice.h"

static struct rank_outcome outcome(uint64_t rank, double core, int agree, int others)
{
    return (struct rank_outcome){.rank = rank,
                                 .core = {.state = CORE_KNOWN, .percent = core},
                                 .agreement = {.agree = agree, .others = others}};
}

static void test_largest_sound_rank(void **state)
{
    (void)state;
    const struct rank_outcome o[] = {outcome(1, 100, 3, 3), outcome(2, 99, 3, 3),
                                     outcome(3, 80, 2, 4), outcome(4, 79.9, 3, 3)};
    assert_int_equal(rank_choice(o, 4), 2);
    assert_int_equal(rank_choice(o, 2), 1);
    assert_int_equal(rank_choice(o + 3, 1), -1);
    assert_int_equal(rank_choice(o, 0), -1);
}

/* The order of the outcomes does not matter; starts that do not agree, and a core consistency that
 * is not known, speak against a rank. */
static void test_what_speaks_against_a_rank(void **state)
{
    (void)state;
    struct rank_outcome o[] = {outcome(8, 95, 1, 4), outcome(6, 95, 0, 0), outcome(4, 95, 2, 3)};
    assert_int_equal(rank_choice(o, 3), 1);
    o[1].core.state = CORE_DEPENDENT;
    assert_int_equal(rank_choice(o, 3), 2);
    o[2].core.percent = -5;
    assert_int_equal(rank_choice(o, 3), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_largest_sound_rank),
        cmocka_unit_test(test_what_speaks_against_a_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
