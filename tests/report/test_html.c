#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/html.h"

/* What `write` has written; the caller frees it. */
static void assert_text(const char *text, size_t most, const char *expected)
{
    char *shown;
    size_t size;
    FILE *to = open_memstream(&shown, &size);
    html_text(to, text, most);
    fclose(to);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_escaping(void **state)
{
    (void)state;
    assert_text("", HTML_LABEL, "");
    assert_text("<script>alert(\"x\") && 'y'</script>", HTML_LABEL,
                "&lt;script&gt;alert(&quot;x&quot;) &amp;&amp; &#39;y&#39;&lt;/script&gt;");
    assert_text("&amp;", HTML_LABEL, "&amp;amp;");
    assert_text("gr\xc3\xbc\xc3\x9f \xf0\x9f\x99\x82", HTML_LABEL,
                "gr\xc3\xbc\xc3\x9f \xf0\x9f\x99\x82");
    assert_text("a\x1b[2J\x7f\n\xc2\x85", HTML_LABEL, "a\\x1b[2J\\x7f\\x0a\\xc2\\x85");
    assert_text("<\xe2\x80\xae\xef\xbf\xbe", HTML_LABEL, "&lt;\\xe2\\x80\\xae\\xef\\xbf\\xbe");
    assert_text("\xff<\xc3", HTML_LABEL, "\\xff&lt;\\xc3");
}

static void test_markup(void **state)
{
    (void)state;
    const char *volatile none = NULL; /* the compiler does not know it */
    char *shown;
    size_t size;
    FILE *to = open_memstream(&shown, &size);
    html_print(to, 3, "<b>%s</b>, %s%s.", "a<b", none, "abcd");
    fclose(to);
    assert_string_equal(shown, "<b>a&lt;b</b>, abc\xe2\x80\xa6.");
    free(shown);
}

static void test_long_texts(void **state)
{
    (void)state;
    assert_text("abc", 3, "abc");
    assert_text("abcd", 3, "abc\xe2\x80\xa6");
    assert_text("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 2, "\xe2\x82\xac\xe2\x82\xac\xe2\x80\xa6");
    /* a wide character takes two columns */
    assert_text("\xe6\x9d\xb1\xe4\xba\xac", 3, "\xe6\x9d\xb1\xe2\x80\xa6");
    assert_text("<<<", 2, "&lt;&lt;\xe2\x80\xa6");
    /* longer than the function's own space */
    char *text = malloc(100001), expected[HTML_LINE + 4];
    memset(text, 'x', 100000);
    text[100000] = '\0';
    memset(expected, 'x', HTML_LINE);
    strcpy(expected + HTML_LINE, "\xe2\x80\xa6");
    assert_text(text, HTML_LINE, expected);
    memset(text, '\x01', 100000);
    assert_text(text, 4, "\\x01\xe2\x80\xa6");
    free(text);
}

static void assert_number(double x, const char *expected)
{
    char *shown;
    size_t size;
    FILE *to = open_memstream(&shown, &size);
    html_number(to, x);
    fclose(to);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_numbers(void **state)
{
    (void)state;
    assert_number(0.123456, "0.1235");
    assert_number(-1e-9, "-1e-09");
    assert_number(863.07, "863.1");
    assert_number(33588.4, "33588");
    assert_number(-9999999, "-9999999");
    assert_number(1e7, "1e+07");
    assert_number(-0.0, "0");
    assert_number(NAN, "not a number");
    assert_number(INFINITY, "infinite");
    assert_number(-INFINITY, "-infinite");
}

static void assert_decimals(double x, int decimals, const char *expected)
{
    char *shown;
    size_t size;
    FILE *to = open_memstream(&shown, &size);
    html_decimals(to, x, decimals);
    fclose(to);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_columns_of_numbers(void **state)
{
    (void)state;
    assert_decimals(0.33, 4, "0.3300");
    assert_decimals(-0.00001, 4, "0.0000");
    assert_decimals(NAN, 4, "not a number");
    assert_decimals(-INFINITY, 4, "-infinite");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escaping),           cmocka_unit_test(test_markup),
        cmocka_unit_test(test_long_texts),         cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_columns_of_numbers),
    };
    return cmocka_run_group_tests_name("html", tests, NULL, NULL);
}
