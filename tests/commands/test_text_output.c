/* The options of text output: their arguments, and that a .blco file takes none of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "commands/text_output.h"

static void takes_the_header_and_the_index_base(void **state)
{
    (void)state;
    struct error error = {0};
    struct text_output t = {.options.index_base = 1};
    assert_int_equal(text_output_set_header(&t, "sptensor", &error), STATUS_OK);
    assert_int_equal(t.options.header, TNS_HEADER_SPTENSOR);
    assert_int_equal(text_output_set_header(&t, "none", &error), STATUS_OK);
    assert_int_equal(t.options.header, TNS_HEADER_NONE);
    assert_int_equal(text_output_set_index_base(&t, "--base", "0", &error), STATUS_OK);
    assert_int_equal(t.options.index_base, 0);
    assert_string_equal(t.index_base_option, "--base");
    assert_int_equal(text_output_set_header(&t, "all", &error), STATUS_INPUT);
    assert_string_equal(error.message, "--header: 'all', expected none, dims or sptensor");
}

static void refuses_an_index_base_other_than_0_or_1(void **state)
{
    (void)state;
    struct error error = {0};
    struct text_output t = {.options.index_base = 1};
    assert_int_equal(text_output_set_index_base(&t, "--base", "2", &error), STATUS_INPUT);
    assert_string_equal(error.message, "--base: '2', expected a whole number from 0 to 1");
}

static void refuses_the_options_for_a_blco_file(void **state)
{
    (void)state;
    struct error error = {0}, none = {0};
    struct text_output t = {.options.index_base = 1};
    assert_int_equal(text_output_check(&t, "x.blco", &none), STATUS_OK);
    assert_int_equal(text_output_set_index_base(&t, "--base", "1", &none), STATUS_OK);
    assert_int_equal(text_output_check(&t, "x.tns", &none), STATUS_OK);
    assert_int_equal(text_output_check(&t, "-", &none), STATUS_OK);
    assert_int_equal(text_output_check(&t, "x.blco", &error), STATUS_INPUT);
    assert_string_equal(error.message, "--base is for text, but x.blco is not");
    assert_int_equal(text_output_set_header(&t, "none", &none), STATUS_OK);
    error = (struct error){0};
    assert_int_equal(text_output_check(&t, "x.blco", &error), STATUS_INPUT);
    assert_string_equal(error.message, "--header is for text, but x.blco is not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_header_and_the_index_base),
        cmocka_unit_test(refuses_an_index_base_other_than_0_or_1),
        cmocka_unit_test(refuses_the_options_for_a_blco_file),
    };
    return cmocka_run_group_tests_name("text_output", tests, NULL, NULL);
}
