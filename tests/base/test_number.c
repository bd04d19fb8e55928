#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

/* ---  --- */

/* Random bit patterns, with every eighth one among the subnormal and every eighth near 1. */
static double random_double(uint64_t *state)
{
    uint64_t bits = naive_random(state);
    uint64_t kind = naive_random(state) % 8;
    if (kind == 0)
        bits &= (UINT64_C(1) << 52) - 1;
    if (kind == 1)
        bits = (bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1000) + bits % 47) << 52;
    return from_bits(bits);
}

static void round_trip(double x)
{
    const char *text = format(x);
    assert_same(parse(text), x, text);
    assert_same(strtod(text, NULL), x, text);
}

static void random_patterns_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 2000000; i++) {
        double x = random_double(&seed);
        if (!isfinite(x))
            continue;
        const char *text = format(x);
        assert_same(parse(text), x, text);
    }
}

/* Significant digits of a number in text. */
static int significant_digits(const char *text)
{
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9')
            continue;
        if (*text == '0') {
            zeros += count > 0;
        } else {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

/* Reads back, with no more digits than printf needs for that. */
static void assert_shortest(double x)
{
    char reference[40];
    int digits = 1;
    for (;; digits++) {
        snprintf(reference, sizeof reference, "%.*e", digits - 1, x);
        if (strtod(reference, NULL) == x)
            break;
        assert_true(digits < 17);
    }
    const char *text = format(x);
    assert_same(strtod(text, NULL), x, text);
    if (significant_digits(text) > digits)
        fail_msg("'%s' has more digits than '%s'", text, reference);
}

static void fewest_digits(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 100000; i++) {
        double x = random_double(&seed);
        if (isfinite(x) && x != 0)
            assert_shortest(x);
    }
    for (int i = 0; i < 20000; i++) /* few digits, as people write them */
        assert_shortest((double)(naive_random(&seed) % 100000 + 1) /
                        pow(10, (double)(naive_random(&seed) % 30)));
}

static void powers_of_two_and_neighbours(void **state)
{
    (void)state;
    for (int e = -1074; e < 1024; e++) {
        double x = ldexp(1.0, e);
        assert_shortest(x);
        round_trip(x);
        round_trip(nextafter(x, 0));
        if (e < 1023)
            round_trip(-nextafter(x, INFINITY));
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        double x = parse(text);
        assert_same(x, strtod(text, NULL), text);
        round_trip(x);
        assert_shortest(x);
    }
    for (uint64_t i = 0; i < 2000; i++)
        round_trip(0x1p53 - 1000 + (double)i);
}

static void output_style(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {10, "10"},
        {0.1, "0.1"},
        {0.001, "0.001"},
        {123456, "123456"},
        {1234.5678, "1234.5678"},
        {0.00001, "0.00001"},
        {-0.000012345678901234567, "-0.000012345678901234568"},
        {0.000001, "1e-6"},
        {1.5e-7, "1.5e-7"},
        {1e15, "1000000000000000"},
        {1e16, "10000000000000000"},
        {1e17, "1e17"},
        {1.2345678901234568e16, "12345678901234568"},
        {1.7e300, "1.7e300"},
        {9007199254740991, "9007199254740991"},
        {9007199254740992, "9007199254740992"},
        {9007199254740994, "9007199254740994"},
        {1e23, "1e23"},
        {9.5367431640625e-7, "9.5367431640625e-7"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {2.2250738585072011e-308, "2.225073858507201e-308"},
        {5e-324, "5e-324"},
        {1e-323, "1e-323"},
        {DBL_MAX, "1.7976931348623157e308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(format(cases[i].value), cases[i].text);
}

static void *format_in_a_thread(void *text)
{
    return number_format(1.0 / 3, text);
}

/* Must come first in this program: the table of powers is made by whichever thread is first. */
static void threads_share_the_table(void **state)
{
    (void)state;
    pthread_t thread[4];
    char text[4][NUMBER_MAX_TEXT];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, format_in_a_thread, text[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *end;
        pthread_join(thread[i], &end);
        assert_int_equal((char *)end - text[i], 18);
        assert_memory_equal(text[i], "0.3333333333333333", 18);
    }
}

static void writes_sizes(void **state)
{
    (void)state;
    char text[NUMBER_SIZE_TEXT];
    assert_string_equal(number_size(0, text), "0 bytes");
    assert_string_equal(number_size(999, text), "999 bytes");
    assert_string_equal(number_size(1000, text), "1.00 kB");
    assert_string_equal(number_size(45678901, text), "45.7 MB");
    assert_string_equal(number_size(UINT64_C(120000000000), text), "120 GB");
    assert_string_equal(number_size(UINT64_MAX, text), "18.4 EB");
    /* what would be rounded to 1000 of a unit, or to more digits than the others have */
    assert_string_equal(number_size(1, text), "1 byte");
    assert_string_equal(number_size(999999, text), "1.00 MB");
    assert_string_equal(number_size(999499, text), "999 kB");
    assert_string_equal(number_size(9999, text), "10.0 kB");
    assert_string_equal(number_size(99999, text), "100 kB");
    assert_string_equal(NUMBER_SIZE(120000), "120 kB");
    assert_int_equal(number_whole(2.9), 2);
    assert_int_equal(number_whole(1e300), UINT64_MAX);
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
        cmocka_unit_test(threads_share_the_table),
        cmocka_unit_test(output_style),
        cmocka_unit_test(random_patterns_round_trip),
        cmocka_unit_test(fewest_digits),
        cmocka_unit_test(powers_of_two_and_neighbours),
        cmocka_unit_test(writes_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
