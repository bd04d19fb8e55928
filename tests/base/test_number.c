#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/naive.h"
#include "support/number_text.h"

static void parses_what_strtod_parses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "+0",
        "0.0",
        "00000",
        "1",
        "+1",
        "-1",
        "1.",
        ".5",
        "-.5",
        "1.5e3",
        "1E3",
        "1e+3",
        "1e-3",
        "007",
        "0.1",
        "9007199254740993",
        "9007199254740992",
        "9007199254740991",
        "9007199254740993.0000000000000000000000000001",
        "9007199254740993e22",
        "1e22",
        "1e23",
        "9007199254740992e22",
        "123456789012345678",
        "1234567890123456789",
        "12345678901234567890",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999",
        "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e308",
        "1e309",
        "-1e400",
        "1e-400",
        "-1e-400",
        "1e99999999999",
        "1e-99999999999999999999999",
        "1e99999999999999999999999999",
        "0e999999999999",
        "0e-5",
        "6.02214076e23",
        "0.000000000000000000000000000000000000000000012345678901234567",
        "1234567890123456789e-340",
        "1234567890123456789e-342",
        "1234567890123456789e-343",
        "7.2057594037927933e16",
        "72057594037927933",
        "8.5e-1",
        "0.500000000000000166547",
        "3.518437208883201171875e13",
        "62.5364939768271845828",
        "1.8446744073709551616e19",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_same(parse(texts[i]), strtod(texts[i], NULL), texts[i]);

    uint64_t seed = 3;
    for (int i = 0; i < 500000; i++) {
        char text[64];
        uint64_t digits = naive_random(&seed) >> naive_random(&seed) % 64;
        int exponent = (int)(naive_random(&seed) % 700) - 360;
        int length = snprintf(text, sizeof text, "%llu", (unsigned long long)digits);
        if (i % 2)
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
        else if (length > 1)
            snprintf(text, sizeof text, "%.1s.%se%d", format((double)digits),
                     &"12345678901234567890"[i % 19], exponent / 8);
        assert_same(parse(text), strtod(text, NULL), text);
    }
}

/* A value half way between two doubles and a hair to either side of it, with digits to spare. */
static void ties_are_decided_by_the_last_digit(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < 2000; i++) {
        double x = from_bits(naive_random(&seed) % 0x7fe0000000000000);
        char text[2000];
        if (i % 2)
            x = from_bits(bits_of(x) % (UINT64_C(60) << 52)); /* tiny: the longest expansions */
        long double half = (long double)x + ((long double)nextafter(x, INFINITY) - x) / 2;
        snprintf(text, sizeof text, "%.1100Le", half);
        char *mark = strchr(text, 'e');
        assert_same(parse(text), strtod(text, NULL), text);
        mark[-1] = '1';
        assert_same(parse(text), strtod(text, NULL), text);
        assert_same(parse(text), nextafter(x, INFINITY), text);
    }
}

static void very_long_numbers(void **state)
{
    (void)state;
    enum { LENGTH = 100000 };
    char *text = malloc(2 * LENGTH + 64);
    assert_non_null(text);

    memset(text, '0', LENGTH);
    strcpy(text + LENGTH, "17");
    assert_true(parse(text) == 17);
    text[1] = '.';
    assert_true(parse(text) == 0.0);
    sprintf(text + LENGTH, "17e%d", LENGTH);
    assert_true(parse(text) == 17);

    memset(text, '0', LENGTH);
    text[0] = '3';
    sprintf(text + LENGTH, "e-%d", LENGTH - 1);
    assert_true(parse(text) == 3);
    text[LENGTH - 1] = '1';
    assert_true(parse(text) == 3);

    memset(text, '9', LENGTH);
    text[LENGTH] = '\0';
    assert_true(isinf(parse(text)));
    text[1] = '.';
    assert_true(parse(text) == 10);

    /* 2^53 + 1 is half way; one late digit decides. */
    strcpy(text, "9007199254740993.");
    size_t head = strlen(text);
    memset(text + head, '0', LENGTH);
    text[head + LENGTH] = '\0';
    assert_true(parse(text) == 9007199254740992.0);
    text[head + LENGTH - 1] = '1';
    assert_true(parse(text) == 9007199254740994.0);
    free(text);
}

static void stops_behind_the_longest_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int length; /* -1: no number */
        double value;
    } cases[] = {
        {"1 2", 1, 1},
        {"1e", 1, 1},
        {"1e+", 1, 1},
        {"1e+x", 1, 1},
        {"1.e2x", 4, 100},
        {"1.5.5", 3, 1.5},
        {"0x10", 1, 0},
        {"1,5", 1, 1},
        {"1d5", 1, 1},
        {"inf", 3, HUGE_VAL},
        {"-Infinity1", 9, -HUGE_VAL},
        {"INFIN", 3, HUGE_VAL},
        {"", -1, 0},
        {"-", -1, 0},
        {".", -1, 0},
        {"-.e1", -1, 0},
        {"e5", -1, 0},
        {"abc", -1, 0},
        {" 1", -1, 0},
        {"--1", -1, 0},
        {"in", -1, 0},
        {"+", -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        double value = 4711;
        const char *behind = number_parse(text, text + strlen(text), &value);
        if (cases[i].length < 0) {
            assert_null(behind);
            continue;
        }
        assert_ptr_equal(behind, text + cases[i].length);
        assert_same(value, cases[i].value, text);
    }
    double value = 0;
    const char *nan = "NaN(1)";
    assert_ptr_equal(number_parse(nan, nan + 6, &value), nan + 3);
    assert_true(isnan(value));
}

/* Bytes after `end` are not read. */
static void respects_the_end(void **state)
{
    (void)state;
    const char *text = "123.456e-12";
    for (size_t length = 1; length <= strlen(text); length++) {
        char *copy = malloc(length); /* exactly as long: a sanitizer sees one byte too many */
        assert_non_null(copy);
        memcpy(copy, text, length);
        char terminated[32] = {0};
        memcpy(terminated, text, length);
        char *expected_end;
        double expected = strtod(terminated, &expected_end), value = 0;
        const char *behind = number_parse(copy, copy + length, &value);
        assert_int_equal(behind - copy, expected_end - terminated);
        assert_same(value, expected, terminated);
        free(copy);
    }
}

static void unsigned_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int length;
        uint64_t value;
    } cases[] = {
        {"0", 1, 0},
        {"007x", 3, 7},
        {"18446744073709551614", 20, UINT64_MAX - 1},
        {"18446744073709551615", 20, UINT64_MAX},
        {"18446744073709551616", 20, UINT64_MAX},
        {"99999999999999999999999999 ", 26, UINT64_MAX},
        {"000000000000000000000000000000012", 33, 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 1;
        const char *text = cases[i].text;
        const char *behind = number_parse_unsigned(text, text + strlen(text), &value);
        assert_ptr_equal(behind, text + cases[i].length);
        assert_int_equal(value, cases[i].value);
    }
    uint64_t value;
    const char *negative = "-1";
    assert_null(number_parse_unsigned(negative, negative + 2, &value));
    assert_null(number_parse_unsigned(negative, negative, &value));

    uint64_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        uint64_t n = naive_random(&seed) >> naive_random(&seed) % 64;
        char text[NUMBER_MAX_TEXT], reference[NUMBER_MAX_TEXT];
        char *end = number_format_unsigned(n, text);
        int length = snprintf(reference, sizeof reference, "%llu", (unsigned long long)n);
        assert_int_equal(end - text, length);
        assert_memory_equal(text, reference, (size_t)length);
        assert_ptr_equal(number_parse_unsigned(text, end, &value), end);
        assert_true(value == n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_what_strtod_parses),
        cmocka_unit_test(ties_are_decided_by_the_last_digit),
        cmocka_unit_test(very_long_numbers),
        cmocka_unit_test(stops_behind_the_longest_number),
        cmocka_unit_test(respects_the_end),
        cmocka_unit_test(unsigned_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
