#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "model/fit_text.h"

static void assert_text(double fit, double noise, int digits, const char *expected)
{
    char text[FIT_TEXT];
    assert_string_equal(fit_text(fit, noise, digits, text), expected);
    assert_true(strlen(text) < FIT_TEXT);
}

static void digits_that_are_known(void **state)
{
    (void)state;
    assert_text(0.823816510, 0, 9, "0.823816510");
    assert_text(0.823816510, 1e-15, 9, "0.823816510");
    assert_text(0.823816510, 1.1e-9, 9, "0.82381651");
    assert_text(0.823816510, 2e-5, 9, "0.8238");
    assert_text(0.823816510, 2e-5, 6, "0.8238");
    assert_text(0.823816510, 0, 6, "0.823817");
    assert_text(0.5, 0.9, 9, "0.5");
    assert_text(0.5, 70, 9, "0.5");
    assert_text(-0.25, 0, 6, "-0.250000");
    assert_text(-4e-7, 0, 6, "0.000000");
    assert_text(-4e-7, 0, 9, "-0.000000400");
}

/* What prints as 1 with the digits that are asked for is not 1. */
static void near_one(void **state)
{
    (void)state;
    assert_text(1, 0, 9, "1");
    assert_text(1, DBL_EPSILON, 9, "1");
    assert_text(1 - 3.2e-13, DBL_EPSILON, 9, "1-3.2e-13");
    assert_text(1 - 3.2e-13, 0, 6, "1-3.2e-13");
    assert_text(1 + 4.4e-16, DBL_EPSILON, 9, "1+4.4e-16");
    assert_text(1 - 2e-8, 0, 6, "1-2.0e-08");
    assert_text(1 - 2e-8, 0, 9, "0.999999980");
    assert_text(1 - 3e-9, 2e-9, 9, "1-3.0e-09");
    assert_text(1 - 3e-13, 2e-8, 9, "1+-2e-08");
    assert_text(1, 2e-8, 9, "1+-2e-08");
    assert_text(1 - 4e-10, 0, 9, "1-4.0e-10");
    assert_text(1 - 6e-10, 0, 9, "0.999999999");
}

static void odd_numbers(void **state)
{
    (void)state;
    assert_text(-1e300, 0, 9, "-1e+300");
    assert_text(-DBL_MAX, 1, 9, "-2e+308");
    assert_text(NAN, NAN, 9, "nan");
    assert_text(-INFINITY, INFINITY, 6, "-inf");
    assert_text(0.25, INFINITY, 6, "0.2");
}

static void shares(void **state)
{
    (void)state;
    static const struct {
        double fit;
        bool counts;
        const char *expected;
    } cases[] = {{0.5123, false, "76.2 % of the squared values"},
                 {0.5123, true, "51.2 % of the deviance"},
                 {0, false, "0.0 % of the squared values"},
                 {-0.1, true, "nothing of the deviance"},
                 {NAN, false, "nothing of the squared values"},
                 {0.99, false, "all but 1.0e-04 of the squared values"},
                 {0.99, true, "99.0 % of the deviance"},
                 {1 + 1e-9, false, "all of the squared values"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[SHARE_TEXT];
        assert_string_equal(fit_share_text(cases[i].fit, cases[i].counts, text), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_that_are_known),
        cmocka_unit_test(near_one),
        cmocka_unit_test(odd_numbers),
        cmocka_unit_test(shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
