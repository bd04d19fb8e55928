#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/memory.h"

static void assert_text(const struct json *j, const char *expected)
{
    assert_int_equal(j->error->status, STATUS_OK);
    assert_int_equal(j->used, strlen(expected));
    assert_memory_equal(j->text, expected, j->used);
}

/* The string as JSON writes it. */
static void assert_string(const char *value, const char *expected)
{
    struct error error = {0};
    struct json j;
    json_begin(&j, &error);
    json_put_string(&j, NULL, value);
    assert_text(&j, expected);
    json_free(&j);
}

static void test_strings(void **state)
{
    (void)state;
    assert_string("", "\"\"");
    assert_string("plain /text/ 'x'", "\"plain /text/ 'x'\"");
    assert_string("a\"b\\c", "\"a\\\"b\\\\c\"");
    assert_string("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    assert_string("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
    assert_string("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82",
                  "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82\"");
    /* what commands a terminal, sets the direction of text, or is no character */
    assert_string("\xc2\x9b[2J\xe2\x80\xae\xe2\x81\xa9", "\"\\u009b[2J\\u202e\\u2069\"");
    assert_string("\xef\xbf\xbe \xf0\x9f\xbf\xbf \xf4\x8f\xbf\xbe",
                  "\"\\ufffe \\ud83f\\udfff \\udbff\\udffe\"");
    assert_string(NULL, "null");
}

static void test_what_is_not_utf8(void **state)
{
    (void)state;
    assert_string("a\xff z", "\"a\\ufffd z\"");
    assert_string("\xc3", "\"\\ufffd\"");                                  /* cut off             */
    assert_string("\xc3(", "\"\\ufffd(\"");                                /* no second byte      */
    assert_string("\x80", "\"\\ufffd\"");                                  /* no first byte       */
    assert_string("\xc0\xaf", "\"\\ufffd\\ufffd\"");                       /* overlong            */
    assert_string("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");            /* a surrogate         */
    assert_string("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* > U+10FFFF */
    assert_string("\xe2\x82", "\"\\ufffd\\ufffd\"");
}

static void write_sample(struct json *j)
{
    const double numbers[] = {0.1, -2, 1e300, 5e-324, INFINITY};
    const uint64_t lengths[] = {183, UINT64_MAX};
    const int counts[] = {2, 0, INT32_MAX};
    json_put_object(j, NULL);
    json_put_string(j, "name", "x");
    json_put_number(j, "third", 1.0 / 3);
    json_put_number(j, "nothing", NAN);
    json_put_unsigned(j, "most", UINT64_MAX);
    json_put_numbers(j, "numbers", numbers, 5);
    json_put_unsigneds(j, "lengths", lengths, 2);
    json_put_counts(j, "counts", counts, 3);
    json_put_numbers(j, "none", numbers, 0);
    json_put_array(j, "list");
    json_put_bool(j, NULL, true);
    json_put_object(j, NULL);
    json_end(j);
    json_put_array(j, NULL);
    json_put_bool(j, NULL, false);
    json_end(j);
    json_end(j);
    json_end(j);
}

static const char sample[] = "{\n"
                             "  \"name\": \"x\",\n"
                             "  \"third\": 0.3333333333333333,\n"
                             "  \"nothing\": null,\n"
                             "  \"most\": 18446744073709551615,\n"
                             "  \"numbers\": [0.1, -2, 1e300, 5e-324, null],\n"
                             "  \"lengths\": [183, 18446744073709551615],\n"
                             "  \"counts\": [2, 0, 2147483647],\n"
                             "  \"none\": [],\n"
                             "  \"list\": [\n"
                             "    true,\n"
                             "    {},\n"
                             "    [\n"
                             "      false\n"
                             "    ]\n"
                             "  ]\n"
                             "}\n";

static void test_nesting(void **state)
{
    (void)state;
    struct error error = {0};
    struct json j;
    json_begin(&j, &error);
    write_sample(&j);
    assert_text(&j, sample);
    json_free(&j);
}

static void test_long_text(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct error error = {0};
    struct json j;
    json_begin(&j, &error);
    json_put_array(&j, NULL);
    for (int i = 0; i < COUNT; i++)
        json_put_unsigned(&j, NULL, 7);
    json_end(&j);
    assert_int_equal(error.status, STATUS_OK);
    assert_int_equal(j.used, 1 + 5 * COUNT - 1 + 3); /* "[", ",\n  7" each, "\n]\n" */
    json_free(&j);
}

static void test_too_deep(void **state)
{
    (void)state;
    struct error error = {0};
    struct json j;
    json_begin(&j, &error);
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_put_array(&j, NULL);
    assert_int_equal(error.status, STATUS_OK);
    json_put_array(&j, NULL);
    assert_int_equal(error.status, STATUS_INTERNAL);
    json_free(&j);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (long k = 0;; k++) {
        struct error error = {0};
        struct json j;
        memory_hook_set(k);
        json_begin(&j, &error);
        for (int i = 0; i < 100; i++)
            write_sample(&j);
        int fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(error.status, fired ? STATUS_MEMORY : STATUS_OK);
        json_free(&j);
        if (!fired) {
            assert_true(k > 2);
            return;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),  cmocka_unit_test(test_what_is_not_utf8),
        cmocka_unit_test(test_nesting),  cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_too_deep), cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
