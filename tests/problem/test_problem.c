/* The precision policy: what a run begins and ends in, and its word. */
#include "problem/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void test_precision(void **state)
{
    (void)state;
    assert_int_equal(precision_first(POLICY_DOUBLE), PRECISION_DOUBLE);
    assert_int_equal(precision_last(POLICY_DOUBLE), PRECISION_DOUBLE);
    assert_int_equal(precision_first(POLICY_SINGLE), PRECISION_SINGLE);
    assert_int_equal(precision_last(POLICY_SINGLE), PRECISION_SINGLE);
    assert_int_equal(precision_first(POLICY_AUTO), PRECISION_SINGLE);
    assert_int_equal(precision_last(POLICY_AUTO), PRECISION_DOUBLE);
}

/* Records and messages have the word that the option takes. */
static void test_words(void **state)
{
    (void)state;
    static const enum precision_policy policies[] = {POLICY_DOUBLE, POLICY_SINGLE, POLICY_AUTO};
    static const char *const words[] = {"double", "single", "auto"};
    assert_string_equal(problem_choices[0].name, "precision");
    for (int i = 0; i < 3; i++) {
        const struct problem p = {.rank = 7, .precision = policies[i]};
        assert_string_equal(problem_word(&p, &problem_choices[0]), words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_precision),
                                       cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
