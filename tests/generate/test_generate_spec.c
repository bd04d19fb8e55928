/* Parsing the options of skew: every form is read, anything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "generate/generate.h"

enum option { SKEW, FIBERS, RUNS };

static enum status parse(enum option option, int order, const char *text,
                         struct generate_spec *spec, struct error *error)
{
    const struct generate_recipe recipe = {.shape.order = order,
                                           .skew = option == SKEW ? text : NULL,
                                           .fibers = option == FIBERS ? text : NULL,
                                           .runs = option == RUNS ? text : NULL};
    return generate_read(spec, &recipe, error);
}

static struct generate_skew parsed(enum option option, int order, const char *text)
{
    struct error error = {0};
    struct generate_spec spec;
    if (parse(option, order, text, &spec, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return spec.skew;
}

static void refused(enum option option, int order, const char *name, const char *text)
{
    char begin[64];
    struct error error = {0};
    struct generate_spec spec;
    snprintf(begin, sizeof begin, "%s: '%s', expected ", name, text);
    if (parse(option, order, text, &spec, &error) != STATUS_INPUT)
        fail_msg("%s", text);
    assert_int_equal(strncmp(error.message, begin, strlen(begin)), 0);
}

static void test_skew(void **state)
{
    (void)state;
    struct generate_skew s = parsed(SKEW, 4, "0.5,even,1,0");
    assert_true(s.exponent[0] == 0.5 && s.exponent[1] == GENERATE_EVEN);
    assert_true(s.exponent[2] == 1 && s.exponent[3] == 0);
    assert_true(parsed(SKEW, 1, "even").exponent[0] == GENERATE_EVEN);
    static const char *const bad[] = {"",      "1",   "1,2,3", "1,",    ",1",   "1,,2",  "-1,0",
                                      "even,", "x,1", "1 2",   "1,inf", "1,2,", "1,nan", "even1,1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(SKEW, 2, "--skew", bad[i]);
}

static void test_fibers(void **state)
{
    (void)state;
    struct generate_skew s = parsed(FIBERS, 4, "100000:3,4:1.5");
    assert_true(s.pool == 100000 && s.pool_modes == 0xc && s.pool_exponent == 1.5);
    s = parsed(FIBERS, 4, "7:1");
    assert_true(s.pool == 7 && s.pool_modes == 1 && s.pool_exponent == 0);
    static const char *const bad[] = {"",     "3",    "3:",  "0:1",   "3:0", "3:5",
                                      "3:1,", "3:1:", "x:1", "3:1:x", "3,1", "3:1:1:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(FIBERS, 4, "--fibers", bad[i]);
}

static void test_runs(void **state)
{
    (void)state;
    struct generate_skew s = parsed(RUNS, 4, "2:0.5:4");
    assert_true(s.run_mode == 1 && s.run_fraction == 0.5 && s.run_length == 4 && !s.run_scattered);
    assert_true(parsed(RUNS, 4, "2:0.5:4:scattered").run_scattered);
    static const char *const bad[] = {
        "",      "1",        "1:0.5",   "1:0.5:",   "0:0.5:2",   "5:0.5:2",
        "1:2:2", "1:-1:2",   "1:0.5:0", "1:0.5:2:", "1:0.5:2:x", "1:0.5:2:scatteredx",
        "1:x:2", "1:0.5:inf"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(RUNS, 4, "--runs", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skew),
        cmocka_unit_test(test_fibers),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
