/* Characters in UTF-8, and the columns that they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
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

/* ---  --- */

static void assert_shown(const char *text, const char *expected)
{
    char out[256];
    assert_ptr_equal(printable(text, out, sizeof out), out);
    assert_string_equal(out, expected);
}

static void text_stays(void **state)
{
    (void)state;
    assert_shown("", "");
    assert_shown("x.tns: 3 MB \\x1b", "x.tns: 3 MB \\x1b");
    assert_shown("Größe ∑ 張量 \xf0\x9f\xa7\xae \xc2\xa0",
                 "Größe ∑ 張量 \xf0\x9f\xa7\xae \xc2\xa0");
    assert_shown("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbd",
                 "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbd");
    assert_shown("\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                 "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d");                     /* Hebrew */
    assert_shown("\xe2\x80\x8d\xe2\x80\x90", "\xe2\x80\x8d\xe2\x80\x90"); /* U+200D, U+2010 */
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    assert_shown("a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd");
    assert_shown("\x1b[2J\x07\x7f", "\\x1b[2J\\x07\\x7f");
    assert_shown("\xc2\x9b"
                 "31m \xc2\x80 \xc2\x9f",
                 "\\xc2\\x9b31m \\xc2\\x80 \\xc2\\x9f");
}

/* The bytes of the code point as UTF-8, terminated. */
static void encode(uint32_t code, char text[5])
{
    int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = length - 1; i > 0; i--, code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)(leads[length] | code);
    text[length] = '\0';
}

/* Whether the code point is shown by its bytes; otherwise it stays. */
static bool is_escaped(uint32_t code)
{
    char text[5], out[PRINTABLE_ROOM(4)], expected[PRINTABLE_ROOM(4)] = "";
    encode(code, text);
    printable(text, out, sizeof out);
    if (strcmp(out, text) == 0)
        return false;
    for (size_t i = 0; text[i]; i++)
        snprintf(expected + 4 * i, 5, "\\x%02x", (unsigned)(unsigned char)text[i]);
    assert_string_equal(out, expected);
    return true;
}

/* All code points: control characters, the separators of lines and paragraphs, those that set the
 * direction of text, and noncharacters. */
static void what_commands_a_reader_is_escaped(void **state)
{
    (void)state;
    for (uint32_t c = 1; c <= 0x10ffff; c = c == 0xd7ff ? 0xe000 : c + 1) {
        bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
        bool direction = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                         (c >= 0x2066 && c <= 0x2069);
        bool none = (c >= 0xfdd0 && c <= 0xfdef) || c % 0x10000 >= 0xfffe;
        if (is_escaped(c) != (control || direction || none))
            fail_msg("U+%04X", c);
    }
}

static void invalid_bytes_are_escaped(void **state)
{
    (void)state;
    assert_shown("\xff\xfe", "\\xff\\xfe");
    assert_shown("\x80x", "\\x80x");
    assert_shown("\xc0\xaf", "\\xc0\\xaf");                   /* overlong  */
    assert_shown("\xe0\x80\x9b", "\\xe0\\x80\\x9b");          /* overlong  */
    assert_shown("\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b"); /* overlong  */
    assert_shown("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
    assert_shown("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond    */
    assert_shown("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"); /* beyond    */
    assert_shown("\xe2\x88", "\\xe2\\x88");                   /* cut off   */
    assert_shown("\xf0\x9f\xa7"
                 "a",
                 "\\xf0\\x9f\\xa7"
                 "a");
    assert_shown("\xc3", "\\xc3");
}

/* Every byte alone, and after the first byte of each kind: no control byte is left. */
static void no_control_byte_is_left(void **state)
{
    (void)state;
    const char *before[] = {"", "\xc2", "\xe2\x88", "\xf0\x9f\xa7"};
    for (int i = 0; i < 4; i++)
        for (int byte = 1; byte < 256; byte++) {
            char text[8], out[PRINTABLE_ROOM(sizeof text)];
            size_t length = strlen(before[i]);
            memcpy(text, before[i], length);
            text[length] = (char)byte;
            text[length + 1] = '\0';
            printable(text, out, sizeof out);
            for (const char *c = out; *c; c++)
                assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
            assert_null(strstr(out, "\xc2\x9b"));
        }
}

static void ends_with_a_whole_character(void **state)
{
    (void)state;
    const char *text = "a\n∑b";
    const char *expected[] = {"", "a", "a", "a", "a", "a\\x0a", "a\\x0a", "a\\x0a", "a\\x0a∑"};
    for (size_t size = 1; size <= 9; size++) {
        char out[16];
        assert_string_equal(printable(text, out, size), expected[size - 1]);
    }
    const size_t bytes[] = {0, 1, 2, 3, 4, 5, 8, 9, 9, 9};
    for (size_t most = 0; most < 10; most++) {
        char out[16];
        assert_int_equal(printable_cut(printable(text, out, sizeof out), most), bytes[most]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(text_stays),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(what_commands_a_reader_is_escaped),
        cmocka_unit_test(invalid_bytes_are_escaped),
        cmocka_unit_test(no_control_byte_is_left),
        cmocka_unit_test(ends_with_a_whole_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
