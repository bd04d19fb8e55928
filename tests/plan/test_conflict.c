/* Which conflict resolution each mode gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/conflict.h"

static const struct shape shape = {4, {183, 24, 1140, 1717}};

static void test_names(void **state)
{
    (void)state;
    for (int c = CONFLICT_AUTO; c < CONFLICTS; c++)
        assert_string_equal(conflict_name((enum conflict)c), conflict_words[c].text);
    assert_string_equal(conflict_name(CONFLICT_ORDERED), "ordered");
}

/* The longest modes get an ordering of their own; the length decides for the others. */
static void test_by_length(void **state)
{
    (void)state;
    static const enum conflict expected[5][4] = {
        {CONFLICT_REGISTER, CONFLICT_HIERARCHICAL, CONFLICT_REGISTER, CONFLICT_REGISTER},
        {CONFLICT_REGISTER, CONFLICT_HIERARCHICAL, CONFLICT_REGISTER, CONFLICT_ORDERED},
        {CONFLICT_REGISTER, CONFLICT_HIERARCHICAL, CONFLICT_ORDERED, CONFLICT_ORDERED},
        {CONFLICT_ORDERED, CONFLICT_HIERARCHICAL, CONFLICT_ORDERED, CONFLICT_ORDERED},
        {CONFLICT_ORDERED, CONFLICT_ORDERED, CONFLICT_ORDERED, CONFLICT_ORDERED},
    };
    for (int replicas = 0; replicas <= 4; replicas++) {
        enum conflict conflict[MAX_ORDER];
        conflict_assign(conflict, &shape, replicas, CONFLICT_AUTO, 132);
        assert_memory_equal(conflict, expected[replicas], sizeof expected[replicas]);
    }
}

static void test_limits_of_the_short_modes(void **state)
{
    (void)state;
    enum conflict conflict[MAX_ORDER];
    conflict_assign(conflict, &shape, 0, CONFLICT_AUTO, 24);
    assert_int_equal(conflict[1], CONFLICT_REGISTER);
    conflict_assign(conflict, &shape, 0, CONFLICT_AUTO, 25);
    assert_int_equal(conflict[1], CONFLICT_HIERARCHICAL);
}

/* The requested resolution goes to every mode without its own ordering, of any length. */
static void test_forced(void **state)
{
    (void)state;
    for (int c = CONFLICT_HIERARCHICAL; c < CONFLICTS; c++) {
        enum conflict conflict[MAX_ORDER];
        conflict_assign(conflict, &shape, 1, (enum conflict)c, 132);
        for (int n = 0; n < 3; n++)
            assert_int_equal(conflict[n], c);
        assert_int_equal(conflict[3], CONFLICT_ORDERED);
    }
}

/* Of modes of the same length the first one comes first. */
static void test_same_lengths(void **state)
{
    (void)state;
    enum conflict conflict[MAX_ORDER];
    conflict_assign(conflict, &(struct shape){3, {7, 7, 7}}, 1, CONFLICT_REGISTER, 0);
    assert_int_equal(conflict[0], CONFLICT_ORDERED);
    assert_int_equal(conflict[1], CONFLICT_REGISTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_by_length),
        cmocka_unit_test(test_limits_of_the_short_modes),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_same_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
