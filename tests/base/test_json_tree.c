#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/json_tree.h"
#include "base/memory.h"

static void parse(struct json_tree *tree, const char *text)
{
    struct error error = {0};
    json_tree_parse(tree, text, strlen(text), "x.json", &error);
    assert_string_equal(error.message, "");
}

static void test_values(void **state)
{
    (void)state;
    struct json_tree t;
    parse(&t, " {\"a\": [1, -2.5e3, true, false, null, \"s\"],\n\"b\": {}, \"a\": 7} \n");
    const struct json_value *root = &t.value[0], *a = json_member(&t, root, "a");
    assert_int_equal(root->count, 3);
    assert_int_equal(a->count, 6);
    const struct json_value *v = json_first(&t, a);
    assert_true(json_number_of(v) == 1);
    v = json_next(&t, v);
    assert_true(json_number_of(v) == -2500);
    v = json_next(&t, v);
    assert_true(json_is_true(v));
    assert_true(isnan(json_number_of(v)));
    v = json_next(&t, v);
    assert_false(json_is_true(v));
    v = json_next(&t, v);
    assert_int_equal(v->kind, JSON_NULL);
    v = json_next(&t, v);
    assert_string_equal(json_text_of(v), "s");
    assert_null(v->name);
    assert_null(json_next(&t, v));
    assert_int_equal(json_member(&t, root, "b")->count, 0);
    assert_null(json_first(&t, json_member(&t, root, "b")));
    json_tree_free(&t);
}

/* A chain of look-ups needs no check before its end. */
static void test_what_is_not_there(void **state)
{
    (void)state;
    struct json_tree t;
    parse(&t, "{\"a\": 1}");
    assert_null(json_member(&t, json_member(&t, &t.value[0], "b"), "c"));
    assert_null(json_member(&t, json_member(&t, &t.value[0], "a"), "c"));
    assert_null(json_first(&t, NULL));
    assert_null(json_next(&t, NULL));
    assert_null(json_text_of(NULL));
    assert_null(json_text_of(json_member(&t, &t.value[0], "a")));
    assert_true(isnan(json_number_of(NULL)));
    assert_false(json_is_true(NULL));
    json_tree_free(&t);
}

static void assert_text(const char *json, const char *expected)
{
    struct json_tree t;
    parse(&t, json);
    assert_string_equal(json_text_of(&t.value[0]), expected);
    json_tree_free(&t);
}

static void test_strings(void **state)
{
    (void)state;
    assert_text("\"\"", "");
    assert_text("\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d");
    assert_text("\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t");
    assert_text("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude42\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82");
    assert_text("\"\\u0000x\\ud800y\\ude42\"", "\xef\xbf\xbdx\xef\xbf\xbdy\xef\xbf\xbd");
    assert_text("\"\\ud800\\u0041\"", "\xef\xbf\xbd"
                                      "A");
    assert_text("\"gr\xc3\xbc\xff\"", "gr\xc3\xbc\xff");
}

static void refused(const char *text, const char *message)
{
    struct json_tree t;
    struct error error = {0};
    assert_int_equal(json_tree_parse(&t, text, strlen(text), "x.json", &error), STATUS_INPUT);
    assert_string_equal(error.message, message);
    assert_null(t.value);
    assert_null(t.text);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    refused("", "x.json:1:1: not JSON: a value expected");
    refused("{", "x.json:1:2: not JSON: a string expected");
    refused("[1 2]", "x.json:1:4: not JSON: ',' or ']' expected");
    refused("[1,]", "x.json:1:4: not JSON: a value expected");
    refused("{\"a\" 1}", "x.json:1:6: not JSON: ':' expected");
    refused("{\"a\": 1,}", "x.json:1:9: not JSON: a string expected");
    refused("{\"a\\n\": 1,\n \"b\": 2\n x}", "x.json:3:2: not JSON: ',' or '}' expected");
    refused("1 2", "x.json:1:3: not JSON: something stands behind the value");
    refused("\"a", "x.json:1:3: not JSON: a string has no end");
    refused("\"a\nb\"", "x.json:1:3: not JSON: a string has no end");
    refused("\"\\x\"", "x.json:1:3: not JSON: there is no such escape");
    refused("\"\\u12g4\"", "x.json:1:4: not JSON: four hexadecimal digits expected");
    refused("\"\\u12", "x.json:1:4: not JSON: four hexadecimal digits expected");
    const char *no_numbers[] = {"01", "+1",  "1.",  ".5",  "1e", "1e+",
                                "-",  "nan", "inf", "0x1", "tru"};
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
        struct json_tree t;
        struct error error = {0};
        assert_int_equal(
            json_tree_parse(&t, no_numbers[i], strlen(no_numbers[i]), "x.json", &error),
            STATUS_INPUT);
    }
}

static void test_bytes_of_value_0(void **state)
{
    (void)state;
    static const char *const texts[] = {"1\0", "\"a\0b\"", "[1\0]", "\0"};
    static const size_t sizes[] = {2, 5, 4, 1};
    for (int i = 0; i < 4; i++) {
        struct json_tree t;
        struct error error = {0};
        assert_int_equal(json_tree_parse(&t, texts[i], sizes[i], "x.json", &error), STATUS_INPUT);
    }
}

static void test_depth(void **state)
{
    (void)state;
    char text[2 * JSON_TREE_MAX_DEPTH + 3] = "";
    struct json_tree t;
    memset(text, '[', JSON_TREE_MAX_DEPTH);
    memset(text + JSON_TREE_MAX_DEPTH, ']', JSON_TREE_MAX_DEPTH);
    parse(&t, text);
    assert_int_equal(t.count, JSON_TREE_MAX_DEPTH);
    json_tree_free(&t);
    memset(text, '[', JSON_TREE_MAX_DEPTH + 1);
    refused(text, "x.json:1:66: not JSON: nested too deep");
}

/* What json.h writes comes back. */
static void test_round_trip(void **state)
{
    (void)state;
    struct error error = {0};
    struct json j;
    struct json_tree t;
    json_begin(&j, &error);
    json_put_array(&j, NULL);
    for (int i = 0; i < 1000; i++)
        json_put_number(&j, NULL, i / 7.0);
    json_put_string(&j, NULL, "\x01 \"quoted\" \\ \xe2\x82\xac");
    json_end(&j);
    json_tree_parse(&t, j.text, j.used, "x.json", &error);
    assert_int_equal(error.status, STATUS_OK);
    const struct json_value *v = json_first(&t, &t.value[0]);
    for (int i = 0; i < 1000; i++, v = json_next(&t, v))
        assert_true(json_number_of(v) == i / 7.0);
    assert_string_equal(json_text_of(v), "\x01 \"quoted\" \\ \xe2\x82\xac");
    json_tree_free(&t);
    json_free(&j);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    char text[8192] = "[0";
    for (size_t used = 2; used < 4000; used += 2)
        memcpy(text + used, ",0", 3);
    strcat(text, "]");
    int k = 0, fired;
    do {
        struct json_tree t;
        struct error error = {0};
        memory_hook_set(k++);
        json_tree_parse(&t, text, strlen(text), "x.json", &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(error.status, fired ? STATUS_MEMORY : STATUS_OK);
        json_tree_free(&t);
    } while (fired);
    assert_true(k > 3);
}

static void test_files(void **state)
{
    (void)state;
    struct json_tree t;
    struct error error = {0};
    assert_int_equal(json_tree_read(&t, "/no/such.json", &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "/no/such.json"));
    char path[] = "/tmp/blco-test-json-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "[1]\n", 4), 4);
    close(fd);
    error = (struct error){0};
    assert_int_equal(json_tree_read(&t, path, &error), STATUS_OK);
    assert_int_equal(t.count, 2);
    json_tree_free(&t);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_bytes_of_value_0),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests_name("json_tree", tests, NULL, NULL);
}
