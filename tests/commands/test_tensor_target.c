/* A .blco file takes none of the options of text output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "commands/tensor_target.h"

static void refuses_the_options_for_a_blco_file(void **state)
{
    (void)state;
    struct error error = {0}, none = {0};
    struct text_output t = {.options.index_base = 1};
    assert_int_equal(text_output_check(&t, "x.blco", &none), STATUS_OK);
    t.index_base_given = "--base";
    assert_int_equal(text_output_check(&t, "x.tns", &none), STATUS_OK);
    assert_int_equal(text_output_check(&t, "-", &none), STATUS_OK);
    assert_int_equal(text_output_check(&t, "x.blco", &error), STATUS_INPUT);
    assert_string_equal(error.message, "--base is for text, but x.blco is not");
    t.header_given = "--header";
    error = (struct error){0};
    assert_int_equal(text_output_check(&t, "x.blco", &error), STATUS_INPUT);
    assert_string_equal(error.message, "--header is for text, but x.blco is not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_the_options_for_a_blco_file),
    };
    return cmocka_run_group_tests_name("tensor_target", tests, NULL, NULL);
}
