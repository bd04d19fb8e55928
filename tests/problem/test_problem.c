/* What the user asks: the precision policy, and how unlisted entries count. */
#include "problem/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <math.h>

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

/* The weight of unlisted entries falls to that of the problem, and ridges grow to their size. */
static void test_count(void **state)
{
    (void)state;
    struct problem p = {.rank = 1, .unlisted = {.weighed = true, .fade = .5}};
    struct unlisted_count c = problem_count(&p, 0);
    assert_true(c.weight == 1 && c.ridge == 0 && c.fading);
    c = problem_count(&p, 2);
    assert_true(c.weight == .25 && c.ridge == .01 * .75 && c.fading);
    assert_true(problem_count(&p, 13).fading); /* 2^-13 > 1e-4 > 2^-14 */
    c = problem_count(&p, 14);
    assert_true(c.weight == 0 && c.ridge == 1 && !c.fading);
    p.unlisted.weight = .3;
    assert_true(problem_count(&p, 1).fading);
    c = problem_count(&p, 2);
    assert_true(c.weight == .3 && c.ridge == 1 && !c.fading);
    p.unlisted.fade = 0;
    assert_true(problem_count(&p, 0).weight == .3 && !problem_count(&p, 0).fading);
    p.unlisted = (struct unlisted){.weighed = false, .fade = .5};
    assert_true(problem_count(&p, 0).weight == 1 && !problem_count(&p, 0).fading);
    assert_true(problem_count(&p, -1).weight == 1);
}

/* The more entries are unlisted, the less they weigh at first. */
static void test_first_weight(void **state)
{
    (void)state;
    const struct shape small = {2, {10, 10}}, large = {3, {1000, 1000, 1000}};
    struct problem p = {.rank = 1, .unlisted = {.weighed = true, .fade = .5}};
    problem_begin_fading(&p, &small, 100);
    assert_true(problem_count(&p, 0).weight == 1);
    problem_begin_fading(&p, &small, 4); /* 96 are less than 120 */
    assert_true(problem_count(&p, 0).weight == 1);
    problem_begin_fading(&p, &small, 1);
    assert_true(fabs(problem_count(&p, 1).weight - .5 * 30 / 99) < 1e-15);
    assert_true(problem_count(&p, 1).fading);
    problem_begin_fading(&p, &large, 1000);
    const struct unlisted_count c = problem_count(&p, 0); /* 3e-5 is as good as nothing */
    assert_true(c.weight == 0 && c.ridge == 1 && !c.fading);
    p.unlisted.weight = .1;
    assert_true(problem_count(&p, 0).weight == .1);
}

static void test_unlisted_text(void **state)
{
    (void)state;
    char text[UNLISTED_TEXT];
    assert_string_equal(unlisted_text(&(struct unlisted){0}, text), "zero");
    assert_string_equal(unlisted_text(&(struct unlisted){.weighed = true}, text), "unknown");
    assert_string_equal(unlisted_text(&(struct unlisted){.weighed = true, .weight = .25}, text),
                        "0.25");
    assert_string_equal(unlisted_text(&(struct unlisted){.weighed = true, .weight = .1}, text),
                        "0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_precision),
                                       cmocka_unit_test(test_words), cmocka_unit_test(test_count),
                                       cmocka_unit_test(test_first_weight),
                                       cmocka_unit_test(test_unlisted_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
