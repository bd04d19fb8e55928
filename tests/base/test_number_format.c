#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/naive.h"
#include "support/number_text.h"

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
        cmocka_unit_test(threads_share_the_table),      cmocka_unit_test(output_style),
        cmocka_unit_test(random_patterns_round_trip),   cmocka_unit_test(fewest_digits),
        cmocka_unit_test(powers_of_two_and_neighbours), cmocka_unit_test(writes_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
