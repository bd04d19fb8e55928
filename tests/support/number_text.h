/* Doubles as bits and as text, for the tests of numbers. Include it after cmocka.h. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/number.h"

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The text of x; good until the next call. */
static inline const char *format(double x)
{
    static char text[NUMBER_MAX_TEXT + 1];
    memset(text, '!', sizeof text);
    char *end = number_format(x, text);
    assert_true(end - text <= NUMBER_MAX_TEXT);
    *end = '\0';
    return text;
}

/* The value of the text, all of which is a number. */
static inline double parse(const char *text)
{
    double value = 12345;
    const char *end = text + strlen(text);
    assert_ptr_equal(number_parse(text, end, &value), end);
    return value;
}

/* The same bits; `text` is shown if they differ. */
static inline void assert_same(double a, double b, const char *text)
{
    if (bits_of(a) != bits_of(b))
        fail_msg("%.17g and %.17g differ: '%s'", a, b, text);
}
