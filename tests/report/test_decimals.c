#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "report/text_table.h"

static void test_how_many(void **state)
{
    (void)state;
    assert_int_equal(decimals_for(0.8661, 4), 4);
    assert_int_equal(decimals_for(-1, 4), 3);
    assert_int_equal(decimals_for(863.5, 4), 1);
    assert_int_equal(decimals_for(33426, 4), 0);
    assert_int_equal(decimals_for(9999999, 4), 0);
    assert_int_equal(decimals_for(1e7, 4), -4);
    assert_int_equal(decimals_for(1e-4, 4), 7);
    assert_int_equal(decimals_for(9.9e-5, 6), -6);
    assert_int_equal(decimals_for(0, 4), 3);
    assert_int_equal(decimals_for(NAN, 4), 3);
    assert_int_equal(decimals_for(INFINITY, 4), 3);
}

static void assert_shown(double x, int decimals, const char *expected)
{
    char text[DECIMALS_ROOM];
    assert_ptr_equal(decimals_show(x, decimals, text), text);
    assert_string_equal(text, expected);
}

/* Zero has no sign, nor has a number of which only zeros are left. */
static void test_shown(void **state)
{
    (void)state;
    assert_shown(0.33, 4, "0.3300");
    assert_shown(-0.33, 4, "-0.3300");
    assert_shown(0, 3, "0.000");
    assert_shown(-0.0, 3, "0.000");
    assert_shown(-0.0, 0, "0");
    assert_shown(-0.0, -4, "0.000e+00");
    assert_shown(-1e-9, 6, "0.000000");
    assert_shown(-1e-9, 0, "0");
    assert_shown(-0.00006, 4, "-0.0001");
    assert_shown(-1e-300, -4, "-1.000e-300");
    assert_shown(123456, 0, "123456");
    assert_shown(NAN, 4, "nan");
    assert_shown(-INFINITY, 4, "-inf");
}

static void test_vanishing(void **state)
{
    (void)state;
    assert_true(decimals_vanish(0, 4) && decimals_vanish(-0.0, -4));
    assert_true(decimals_vanish(-0.00004, 4) && decimals_vanish(0.4, 0));
    assert_false(decimals_vanish(0.00006, 4) || decimals_vanish(1e-300, -4));
    assert_false(decimals_vanish(NAN, 4) || decimals_vanish(INFINITY, 0));
}

/* Whatever the numbers of a column are, they have room. */
static void test_room(void **state)
{
    (void)state;
    for (int digits = 1; digits <= 17; digits++)
        for (double x = DBL_MAX; x > 0; x /= 7) {
            char text[DECIMALS_ROOM];
            decimals_show(-x, decimals_for(x, digits), text);
            assert_true(strlen(text) < DECIMALS_ROOM - 1);
        }
}

/* The numbers of a column are shown so. */
static void assert_column(struct number_column c, const double *x, int count,
                          const char *const *expected)
{
    char text[NUMBER_SHOWN_ROOM];
    for (int i = 0; i < count; i++)
        number_column_add(&c, x[i]);
    for (int i = 0; i < count; i++)
        assert_string_equal(number_column_show(&c, x[i], text), expected[i]);
}

/* Each number has three digits, and points are below each other. */
static void test_columns(void **state)
{
    (void)state;
    assert_column((struct number_column){.digits = 5},
                  (const double[]){194027, 0.00234, 0, -17.25, NAN, 1.5e-9, 1000}, 7,
                  (const char *const[]){"194027       ", "0.00234 ", "0       ", "-17.2     ",
                                        "nan       ", "1.50e-09", "1000       "});
    assert_column((struct number_column){.digits = 4}, (const double[]){0.8661, 0.25, -0.00031}, 3,
                  (const char *const[]){"0.8661  ", "0.2500  ", "-0.000310"});
    assert_column((struct number_column){.digits = 5}, (const double[]){3.5e8, 12, 0}, 3,
                  (const char *const[]){"3.5000e+08", "1.2000e+01", "0         "});
    assert_column((struct number_column){.digits = 0}, (const double[]){1000, 3, 0}, 3,
                  (const char *const[]){"1000", "3", "0"});
    assert_column((struct number_column){.digits = 4}, (const double[]){-123456, 5, 0.5}, 3,
                  (const char *const[]){"-123456    ", "5    ", "0.500"});
    assert_column((struct number_column){.digits = 3}, (const double[]){0, -0.0}, 2,
                  (const char *const[]){"0", "0"});
}

/* Probabilities by their logarithms, also those that no double has. */
static void test_logarithms(void **state)
{
    (void)state;
    assert_column((struct number_column){.digits = 3, .logarithms = true},
                  (const double[]){0, log(0.0123), log(1.5e-7), log(2.34) - 5000 * log(10)}, 4,
                  (const char *const[]){"1.00      ", "0.0123    ", "1.50e-07  ", "2.34e-5000"});
    assert_column((struct number_column){.digits = 3, .logarithms = true},
                  (const double[]){-INFINITY, log(0.5)}, 2,
                  (const char *const[]){"0    ", "0.500"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_many),  cmocka_unit_test(test_shown),
        cmocka_unit_test(test_vanishing), cmocka_unit_test(test_room),
        cmocka_unit_test(test_columns),   cmocka_unit_test(test_logarithms),
    };
    return cmocka_run_group_tests_name("decimals", tests, NULL, NULL);
}
