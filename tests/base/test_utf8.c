/* Characters in UTF-8, and the columns that they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <locale.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

static void test_length(void **state)
{
    (void)state;
    assert_int_equal(utf8_length("a"), 1);
    assert_int_equal(utf8_length("\xc3\xbc"), 2);
    assert_int_equal(utf8_length("\xe2\x82\xac"), 3);
    assert_int_equal(utf8_length("\xf0\x9f\x98\x80"), 4);
    /* the end, a byte alone, cut off, overlong, a surrogate, above U+10FFFF */
    static const char *const wrong[] = {"",         "\x80",     "\xff",         "\xc3",
                                        "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(utf8_length(wrong[i]), 0);
}

static const struct {
    const char *text;
    size_t width;
} texts[] = {{"", 0},
             {"abc", 3},
             {"M\xc3\xbcnchen", 7},
             {"Mu\xcc\x88nchen", 7},                      /* an accent of its own */
             {"\xe6\x9d\xb1\xe4\xba\xac", 4},             /* Tokyo */
             {"\xf0\x9f\x98\x80!", 3},                    /* a face */
             {"\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4", 6}, /* Korean */
             {"\xff\x80z", 3},                            /* no UTF-8 */
             {"a\tb", 3}};

static void test_width(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(utf8_width(texts[i].text), texts[i].width);
}

/* A beginning that fits takes no more than was asked for, and one more character would not fit. */
static void test_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t width = 0; width < 10; width++) {
            char beginning[32];
            size_t bytes = utf8_fit(texts[i].text, width);
            memcpy(beginning, texts[i].text, bytes);
            beginning[bytes] = '\0';
            assert_true(utf8_width(beginning) <= width);
            if (texts[i].width <= width)
                assert_int_equal(bytes, strlen(texts[i].text));
            else
                assert_true(utf8_width(beginning) + 1 >= width && bytes < strlen(texts[i].text));
        }
    assert_int_equal(utf8_fit("\xe6\x9d\xb1\xe4\xba\xac", 3), 3);
    assert_int_equal(utf8_fit("u\xcc\x88x", 1), 3);
}

/* The locale of the program stays as it was. */
static void test_locale(void **state)
{
    (void)state;
    locale_t before = uselocale((locale_t)0);
    assert_int_equal(utf8_width("\xe6\x9d\xb1"), 2);
    assert_true(uselocale((locale_t)0) == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
