#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/json_read.h"
#include "base/memory.h"

static json_t *parsed(const char *text)
{
    struct error error = {0};
    json_t *value;
    json_parse(&value, text, strlen(text), "x.json", &error);
    assert_string_equal(error.message, "");
    assert_non_null(value);
    return value;
}

static void test_values(void **state)
{
    (void)state;
    json_t *root = parsed(" {\"a\": [1, -2.5e3, true, false, null, \"s\"],\n\"b\": {}} \n");
    json_t *a = json_object_get(root, "a");
    assert_int_equal(json_object_size(root), 2);
    assert_int_equal(json_array_size(a), 6);
    assert_true(json_number_of(json_array_get(a, 0)) == 1);
    assert_true(json_number_of(json_array_get(a, 1)) == -2500);
    assert_true(json_is_true(json_array_get(a, 2)));
    assert_true(isnan(json_number_of(json_array_get(a, 2))));
    assert_false(json_is_true(json_array_get(a, 3)));
    assert_true(json_is_null(json_array_get(a, 4)));
    assert_string_equal(json_string_value(json_array_get(a, 5)), "s");
    assert_null(json_array_get(a, 6));
    assert_true(json_is_object(json_object_get(root, "b")));
    json_decref(root);
}

/* A chain of look-ups needs no check before its end. */
static void test_what_is_not_there(void **state)
{
    (void)state;
    json_t *root = parsed("{\"a\": 1}");
    assert_null(json_object_get(json_object_get(root, "b"), "c"));
    assert_null(json_object_get(json_object_get(root, "a"), "c"));
    assert_null(json_array_get(NULL, 0));
    assert_int_equal(json_array_size(NULL), 0);
    assert_int_equal(json_array_size(root), 0);
    assert_null(json_string_value(NULL));
    assert_null(json_string_value(json_object_get(root, "a")));
    assert_true(isnan(json_number_of(NULL)));
    json_decref(root);
    json_decref(NULL);
}

/* Pages show the stages of a run in the order of its record. */
static void test_members_keep_their_order(void **state)
{
    (void)state;
    char text[8192] = "{", *end = text + 1;
    for (int i = 0; i < 500; i++)
        end += sprintf(end, "%s\"%d\": %d", i > 0 ? "," : "", 7 * i % 500, i);
    strcpy(end, "}");
    json_t *root = parsed(text);
    const char *name;
    const json_t *value;
    int i = 0;
    json_object_foreach(root, name, value) {
        assert_int_equal(atoi(name), 7 * i % 500);
        assert_true(json_number_of(value) == i++);
    }
    assert_int_equal(i, 500);
    json_decref(root);
}

static void assert_text(const char *json, const char *expected)
{
    char text[64];
    snprintf(text, sizeof text, "[%s]", json);
    json_t *root = parsed(text);
    assert_string_equal(json_string_value(json_array_get(root, 0)), expected);
    json_decref(root);
}

static void test_strings(void **state)
{
    (void)state;
    assert_text("\"\"", "");
    assert_text("\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d");
    assert_text("\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t");
    assert_text("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude42\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82");
}

static void assert_number(const char *digits, double expected)
{
    char text[1024];
    snprintf(text, sizeof text, "[%s]", digits);
    json_t *root = parsed(text);
    double number = json_number_of(json_array_get(root, 0));
    assert_memory_equal(&number, &expected, sizeof number);
    json_decref(root);
}

/* The nearest double: halfway cases, subnormal numbers, integers beyond those of 64 bits. */
static void test_numbers_are_exact(void **state)
{
    (void)state;
    assert_number("0.1", 0.1);
    assert_number("-0", -0.0);
    assert_number("-0.0", -0.0);
    assert_number("9007199254740993", 9007199254740992.0);
    assert_number("9007199254740993.00000000000000000000000000000000000001", 9007199254740994.0);
    assert_number("18446744073709551615", 0x1p64);
    assert_number("123456789012345678901234567890", 123456789012345678901234567890.0);
    assert_number("2.2250738585072011e-308", 0x0.fffffffffffffp-1022);
    assert_number("2.2250738585072012e-308", DBL_MIN);
    assert_number("4.9e-324", 0x1p-1074);
    assert_number("2.4703282292062327e-324", 0);
    assert_number("2.4703282292062328e-324", 0x1p-1074);
    assert_number("1e-400", 0);
    assert_number("1.7976931348623157e308", DBL_MAX);
    assert_number("1.7976931348623158e308", DBL_MAX);
}

static void refused_bytes(const char *text, size_t size, const char *message)
{
    struct error error = {0};
    json_t *value;
    assert_int_equal(json_parse(&value, text, size, "x.json", &error), STATUS_INPUT);
    assert_string_equal(error.message, message);
    assert_null(value);
}

static void refused(const char *text, const char *message)
{
    refused_bytes(text, strlen(text), message);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    refused("", "x.json:1:1: not JSON: '[' or '{' expected near end of file");
    refused("{", "x.json:1:2: not JSON: string or '}' expected near end of file");
    refused("{\n", "x.json:2:1: not JSON: string or '}' expected near end of file");
    refused("1", "x.json:1:1: not JSON: '[' or '{' expected near '1'");
    refused("[1 2]", "x.json:1:4: not JSON: ']' expected near '2'");
    refused("[1,]", "x.json:1:4: not JSON: unexpected token near ']'");
    refused("{\"a\" 1}", "x.json:1:6: not JSON: ':' expected near '1'");
    refused("{\"a\": 1,}", "x.json:1:9: not JSON: string or '}' expected near '}'");
    refused("{\"a\\n\": 1,\n \"b\": 2\n x}", "x.json:3:2: not JSON: '}' expected near 'x'");
    refused("[1] 2", "x.json:1:5: not JSON: end of file expected near '2'");
    refused("[\"a", "x.json:1:4: not JSON: premature end of input near '\"a'");
    refused("[\"a\nb\"]", "x.json:1:3: not JSON: unexpected newline near '\"a'");
    refused("[\"\x01\"]", "x.json:1:2: not JSON: control character 0x1 near '\"'");
    refused("[\"\\x\"]", "x.json:1:4: not JSON: invalid escape near '\"\\x'");
    refused("[\"\\u12g4\"]", "x.json:1:7: not JSON: invalid escape near '\"\\u12g'");
    refused("[\"\\u12", "x.json:1:6: not JSON: invalid escape near '\"\\u12'");
    refused("[tru]", "x.json:1:4: not JSON: invalid token near 'tru'");
    static const char *const no_numbers[] = {"01",  "+1", "1.",  ".5",  "1e",
                                             "1e+", "-",  "nan", "inf", "0x1"};
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
        char text[16];
        struct error error = {0};
        json_t *value;
        snprintf(text, sizeof text, "[%s]", no_numbers[i]);
        assert_int_equal(json_parse(&value, text, strlen(text), "x.json", &error), STATUS_INPUT);
    }
}

static void test_ambiguous_members(void **state)
{
    (void)state;
    refused("{\"a\": 1,\n \"a\": 2}", "x.json:2:4: not JSON: duplicate object key near '\"a\"'");
    refused("{\"a\": 1, \"\\u0061\": 2}",
            "x.json:1:17: not JSON: duplicate object key near '\"\\u0061\"'");
    json_t *root = parsed("[{\"a\": 1}, {\"a\": 2}]");
    assert_true(json_number_of(json_object_get(json_array_get(root, 1), "a")) == 2);
    json_decref(root);
}

static void test_what_is_no_text(void **state)
{
    (void)state;
    refused("[\"a\xff\"]", "x.json:1:4: not JSON: unable to decode byte 0xff near '\"a'");
    refused("[\"gr\xc3\xbc\xff\"]",
            "x.json:1:6: not JSON: unable to decode byte 0xff near '\"gr\xc3\xbc'");
    refused("[\"\xc0\xaf\"]", "x.json:1:3: not JSON: unable to decode byte 0xc0 near '\"'");
    refused("[\"\xed\xa0\x80\"]", "x.json:1:3: not JSON: unable to decode byte 0xed near '\"'");
    refused("\xff", "x.json:1:1: not JSON: unable to decode byte 0xff");
    refused("[\"\\ud800y\"]",
            "x.json:1:10: not JSON: invalid Unicode '\\uD800' near '\"\\ud800y\"'");
    refused("[\"\\ude42\"]", "x.json:1:9: not JSON: invalid Unicode '\\uDE42' near '\"\\ude42\"'");
    refused("[\"\\ud800\\u0041\"]", "x.json:1:15: not JSON: invalid Unicode '\\uD800\\u0041' near "
                                    "'\"\\ud800\\u0041\"'");
    refused("[\"\\u0000\"]", "x.json:1:9: not JSON: \\u0000 is not allowed without JSON_ALLOW_NUL "
                             "near '\"\\u0000\"'");
}

static void test_numbers_too_large(void **state)
{
    (void)state;
    char text[4003] = "[";
    refused("[1e400]", "x.json:1:6: not JSON: real number overflow near '1e400'");
    refused("[1,\n-1e999]", "x.json:2:6: not JSON: real number overflow near '-1e999'");
    memset(text + 1, '9', 4000);
    text[4001] = ']';
    refused(text, "x.json:1:4001: not JSON: real number overflow");
}

static void test_bytes_of_value_0(void **state)
{
    (void)state;
    refused_bytes("[1\0]", 4, "x.json:1:3: not JSON: a byte of value 0");
    refused_bytes("[1]\0", 4, "x.json:1:4: not JSON: a byte of value 0");
    refused_bytes("[1]\n\0", 5, "x.json:2:1: not JSON: a byte of value 0");
    refused_bytes("[\n\"a\0b\"]", 8, "x.json:2:3: not JSON: a byte of value 0");
    refused_bytes("\0", 1, "x.json:1:1: not JSON: a byte of value 0");
}

static void test_depth(void **state)
{
    (void)state;
    enum { DEEPEST = JSON_PARSER_MAX_DEPTH };
    static char text[2 * DEEPEST + 3];
    memset(text, '[', DEEPEST);
    memset(text + DEEPEST, ']', DEEPEST);
    json_decref(parsed(text));
    memset(text, '[', DEEPEST + 1);
    memset(text + DEEPEST + 1, ']', DEEPEST + 1);
    refused(text, "x.json:1:2049: not JSON: maximum parsing depth reached near '['");
}

/* What json.h writes comes back. */
static void test_round_trip(void **state)
{
    (void)state;
    struct error error = {0};
    struct json j;
    json_t *value;
    json_begin(&j, &error);
    json_put_array(&j, NULL);
    for (int i = 0; i < 1000; i++)
        json_put_number(&j, NULL, i / 7.0);
    json_put_unsigned(&j, NULL, UINT64_MAX);
    json_put_string(&j, NULL, "\x01 \"quoted\" \\ \xe2\x82\xac \xff");
    json_end(&j);
    json_parse(&value, j.text, j.used, "x.json", &error);
    assert_int_equal(error.status, STATUS_OK);
    for (size_t i = 0; i < 1000; i++)
        assert_true(json_number_of(json_array_get(value, i)) == (double)i / 7.0);
    assert_true(json_number_of(json_array_get(value, 1000)) == 0x1p64);
    assert_string_equal(json_string_value(json_array_get(value, 1001)),
                        "\x01 \"quoted\" \\ \xe2\x82\xac \xef\xbf\xbd");
    json_decref(value);
    json_free(&j);
}

static size_t held, most_held;

static void *count_allocation(size_t size)
{
    void *block = malloc(size);
    held += malloc_usable_size(block) + sizeof(size_t);
    most_held = held > most_held ? held : most_held;
    return block;
}

static void count_free(void *block)
{
    if (block)
        held -= malloc_usable_size(block) + sizeof(size_t);
    free(block);
}

/* What Jansson holds of an array of COUNT values, in bytes for each byte of text. */
static double held_of(const char *value)
{
    enum { COUNT = 100000 };
    size_t length = strlen(value), size = 2 + COUNT * (length + 1);
    char *text = malloc(size + 1), *end = text;
    *end++ = '[';
    for (int i = 0; i < COUNT; i++) {
        *end++ = i > 0 ? ',' : ' ';
        memcpy(end, value, length);
        end += length;
    }
    *end++ = ']';
    *end = '\0';
    held = most_held = 0;
    json_decref(parsed(text));
    free(text);
    assert_int_equal(held, 0);
    return (double)most_held / (double)size;
}

/* json_parse tries the memory of 96 bytes for each byte of text before, because Jansson cannot do
 * without. */
static void test_memory(void **state)
{
    (void)state;
    static const char *const values[] = {
        "{}", "[]", "\"\"", "1", "[[]]", "{\"\":{}}", "{\"\":1,\"a\":{}}"};
    double most = 0;
    json_set_alloc_funcs(count_allocation, count_free);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double bytes = held_of(values[i]);
        most = bytes > most ? bytes : most;
        printf("%-16s %.1f bytes a byte\n", values[i], bytes);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(most > 60 && most < 96);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct error error = {0};
    json_t *value;
    memory_hook_set(0);
    assert_int_equal(json_parse(&value, "[]", 2, "x.json", &error), STATUS_MEMORY);
    memory_hook_set(-1);
    assert_null(value);
}

static void test_files(void **state)
{
    (void)state;
    json_t *value;
    struct error error = {0};
    assert_int_equal(json_read(&value, "/no/such.json", &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "/no/such.json"));
    assert_null(value);
    char path[] = "/tmp/blco-test-json-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "[1]\n", 4), 4);
    close(fd);
    for (long k = 0; k < 2; k++) {
        error = (struct error){0};
        memory_hook_set(k);
        assert_int_equal(json_read(&value, path, &error), STATUS_MEMORY);
        memory_hook_set(-1);
        assert_null(value);
    }
    error = (struct error){0};
    assert_int_equal(json_read(&value, path, &error), STATUS_OK);
    assert_int_equal(json_array_size(value), 1);
    json_decref(value);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_members_keep_their_order),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_numbers_are_exact),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_ambiguous_members),
        cmocka_unit_test(test_what_is_no_text),
        cmocka_unit_test(test_numbers_too_large),
        cmocka_unit_test(test_bytes_of_value_0),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests_name("json_read", tests, NULL, NULL);
}
