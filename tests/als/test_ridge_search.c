/* Which ridges are tried, and which is chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "als/runs.h"

/* An error that is least at `best` and grows with the distance on a logarithmic scale. */
static double error_at(double ridge, double best)
{
    return 1 + fabs(log(ridge / best));
}

static struct ridge_search search(double best, double size)
{
    struct ridge_search s;
    double ridge;
    ridge_search_begin(&s, RIDGE_BALANCED, size, 3);
    while (ridge_search_next(&s, &ridge))
        ridge_search_note(&s, ridge, error_at(ridge, best));
    return s;
}

static void assert_tried(const struct ridge_search *s, const double *ridge, int count)
{
    assert_int_equal(s->count, count);
    for (int i = 0; i < count; i++)
        assert_true(s->ridge[i] == ridge[i]);
}

static void test_walks(void **state)
{
    (void)state;
    struct ridge_search s = search(1, 1);
    assert_tried(&s, (const double[]){1, 3, .3}, 3);
    assert_true(s.best == 1 && s.least == 1);
    s = search(10, 1);
    assert_tried(&s, (const double[]){1, 3, 10, 30}, 4);
    assert_true(s.best == 10);
    s = search(.03, 1);
    assert_tried(&s, (const double[]){1, 3, .3, .1, .03, .01}, 6);
    assert_true(s.best == .03);
    s = search(1e-30, 1);
    assert_int_equal(s.count, RIDGE_TRIALS);
}

/* The first one grows with the values: 100^(4/3) is 464. */
static void test_begins_by_size(void **state)
{
    (void)state;
    struct ridge_search s = search(300, 100);
    assert_true(s.ridge[0] == 300 || s.ridge[0] == 1000);
    assert_true(s.best == 300);
    s = search(1e-9, 1e-6);
    assert_true(s.best == 1e-9);
    ridge_search_begin(&s, RIDGE_UNIT, 100, 3);
    assert_true(s.best == .001);
    ridge_search_begin(&s, RIDGE_COUNTED, 100, 3);
    assert_true(s.best == .03);
    ridge_search_begin(&s, RIDGE_BALANCED, 0, 3);
    assert_true(s.best == 1);
    ridge_search_begin(&s, RIDGE_BALANCED, 1e308, 16);
    assert_true(isfinite(s.best) && s.best > 0);
}

/* A ridge without a model is worse than any other; an error that is no number too. */
static void test_breakdowns(void **state)
{
    (void)state;
    struct ridge_search s;
    double ridge;
    ridge_search_begin(&s, RIDGE_BALANCED, 1, 3);
    while (ridge_search_next(&s, &ridge))
        ridge_search_note(&s, ridge, ridge == 1 ? INFINITY : ridge > 3 ? NAN : 2);
    assert_tried(&s, (const double[]){1, 3, 10}, 3);
    assert_true(s.best == 3 && s.least == 2);
}

/* An error far below the values is small enough. */
static void test_enough(void **state)
{
    (void)state;
    struct ridge_search s;
    double ridge;
    ridge_search_begin(&s, RIDGE_BALANCED, 1, 3);
    while (ridge_search_next(&s, &ridge))
        ridge_search_note(&s, ridge, .01 * ridge);
    assert_tried(&s, (const double[]){1, 3, .3, .1, .03}, 5);
    assert_true(s.best == .03);
}

/* Errors that fall by too little end the search; yet the least of them counts. */
static void test_least(void **state)
{
    (void)state;
    static const struct {
        double at_1, at_3, at_10, at_third; /* errors of the ridges 1, 3, 10 and .3 */
        int count;
        double best, least;
    } of[] = {{1, .9999, 2, 2, 3, 3, .9999},
              {1, 2, 2, .9995, 3, .3, .9995},
              {1, .9997, 2, .9996, 3, .3, .9996},
              {1, .5, .4999, 2, 3, 10, .4999}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct ridge_search s;
        double ridge;
        ridge_search_begin(&s, RIDGE_BALANCED, 1, 3);
        while (ridge_search_next(&s, &ridge))
            ridge_search_note(&s, ridge,
                              ridge < 1    ? of[i].at_third
                              : ridge == 1 ? of[i].at_1
                              : ridge == 3 ? of[i].at_3
                                           : of[i].at_10);
        assert_int_equal(s.count, of[i].count);
        assert_true(s.best == of[i].best && s.least == of[i].least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walks),
                                       cmocka_unit_test(test_begins_by_size),
                                       cmocka_unit_test(test_breakdowns),
                                       cmocka_unit_test(test_enough), cmocka_unit_test(test_least)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
