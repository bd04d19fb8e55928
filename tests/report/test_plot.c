#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/plot.h"

/* The SVG of a plot, until the next one. */
static const char *draw(const double *low, const double *high, uint64_t count)
{
    static char text[65536];
    FILE *to = fmemopen(text, sizeof text, "w");
    struct plot_line plot = {.title = "a < b",
                             .about = "\"about\"",
                             .first = "<1>",
                             .last = "&9",
                             .count = count,
                             .stride = 1,
                             .low = low,
                             .high = high,
                             .marks = 1,
                             .scale = plot_scale_none()};
    for (uint64_t c = 0; c < count; c++) {
        plot_scale_add(&plot.scale, low[c]);
        plot_scale_add(&plot.scale, high[c]);
    }
    plot_scale_finish(&plot.scale);
    plot_line(to, &plot);
    fclose(to);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    return text;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (size_t i = 0; text[i]; i++)
        count += strncmp(text + i, part, strlen(part)) == 0;
    return count;
}

static void test_lines(void **state)
{
    (void)state;
    const double x[] = {0, 1, NAN, 0.5, 0.25, INFINITY};
    const char *text = draw(x, x, 6);
    assert_non_null(strstr(text, "<title>a &lt; b</title><desc>&quot;about&quot;</desc>"));
    assert_non_null(strstr(text, ">&lt;1&gt;</text>"));
    assert_non_null(strstr(text, ">&amp;9</text>"));
    assert_int_equal(count_of(text, "<circle"), 4);
    const char *path = strstr(text, "class=\"line\" d=\"");
    assert_non_null(path);
    assert_int_equal(count_of(path, "M"), 2); /* a gap where there is no number */
}

static void test_areas(void **state)
{
    (void)state;
    const double low[] = {0, 0, 0}, high[] = {0, 1, 2};
    const char *text = draw(low, high, 3);
    /* from the lower left, up along the upper ends, and back along the lower ones */
    assert_non_null(strstr(
        text, "class=\"line area\" d=\"M92 166l0 0 269 -78 269 -78 0 156 -269 0 -269 0 z\""));
}

static void test_lines_of_nothing(void **state)
{
    (void)state;
    const double none[] = {NAN, NAN}, one[] = {7};
    const char *text = draw(none, none, 2);
    assert_int_equal(count_of(text, "<circle"), 0);
    text = draw(one, one, 1);
    assert_int_equal(count_of(text, "<circle"), 1);
    assert_null(strstr(text, "&amp;9"));
}

static void assert_inner(double first, double every, uint64_t entries, uint64_t columns, int count,
                         uint64_t entry, double place, const char *number)
{
    struct plot_tick tick[PLOT_TICKS];
    assert_int_equal(plot_inner_ticks(tick, first, every, entries, columns), count);
    if (count == 0)
        return;
    assert_int_equal(tick[0].entry, entry);
    assert_true(fabs(tick[0].place - place) < 1e-9);
    assert_string_equal(tick[0].number, number);
}

static void test_inner_ticks(void **state)
{
    (void)state;
    assert_inner(1, 1, 201, 201, 4, 49, 49 / 200.0, "50");
    assert_inner(1, 1, 4, 4, 2, 1, 1 / 3.0, "2"); /* whole numbers only */
    assert_inner(10, 10, 20, 20, 3, 4, 4 / 19.0, "50");
    assert_inner(1, 1, 2, 2, 0, 0, 0, NULL);
    assert_inner(1, 1, 1, 1, 0, 0, 0, NULL);
    /* entry 50000 of 200000 lies in column 50 of 200, near its left end */
    assert_inner(1, 1, 200000, 200, 3, 49999, (49999.5 / 1000 - 0.5) / 199, "50000");
}

/* The SVG of a line of 9 entries with this text at its end and its inner ticks. */
static const char *draw_ticks(const char *last, const char *label)
{
    static char text[65536];
    const double x[] = {-1, -2, -3, -4, -5, -6, -7, -8, -9};
    struct plot_tick tick[PLOT_TICKS];
    FILE *to = fmemopen(text, sizeof text, "w");
    struct plot_line plot = {.title = "t", .about = "a", .first = "1", .last = last, .count = 9};
    plot.stride = 1;
    plot.powers = 1;
    plot.low = plot.high = x;
    plot.scale = (struct plot_scale){-9, -1};
    plot.tick = tick;
    plot.ticks = plot_inner_ticks(tick, 1, 1, 9, 9);
    plot.id = "c1m2";
    tick[1].text = label;
    plot_line(to, &plot);
    fclose(to);
    return text;
}

/* Every inner tick has a mark, and a text where this touches no other. */
static void test_texts_that_touch(void **state)
{
    (void)state;
    const char *text = draw_ticks("9", NULL);
    assert_int_equal(count_of(text, "class=\"axis\""), 4);
    assert_int_equal(count_of(text, "text-anchor=\"middle\""), 4);
    assert_non_null(strstr(text, "text-anchor=\"middle\">4</text>"));
    assert_non_null(strstr(text, "<path id=\"c1m2\" class=\"line\""));
    text = draw_ticks("9", "<label>"); /* in place of 4 */
    assert_int_equal(count_of(text, "class=\"axis\""), 4);
    assert_non_null(strstr(text, "text-anchor=\"middle\">&lt;label&gt;</text>"));
    text = draw_ticks("a rather long last label", NULL);
    assert_int_equal(count_of(text, "class=\"axis\""), 4);
    assert_int_equal(count_of(text, "text-anchor=\"middle\""), 2);
    assert_non_null(strstr(
        text, "><title>a rather long last label</title>a rather long last l\xe2\x80\xa6</text>"));
}

static void test_powers(void **state)
{
    (void)state;
    const char *text = draw_ticks("9", NULL);
    assert_non_null(strstr(text, ">10\xe2\x81\xbb\xe2\x81\xb4</text>"));
    assert_null(strstr(text, ">-4</text>"));
}

/* A line on a scale twice as long takes half of the height, and begins where its least number is.
 */
static void test_overlay(void **state)
{
    (void)state;
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    const struct plot_line frame = {
        .title = "t", .about = "a", .first = "1", .last = "9", .count = 9, .scale = {-1, 3}};
    const struct plot_overlaid line[] = {{"c1m2", "Component <1>", {-1, 3}},
                                         {"c2m2", "Component 2", {0, 2}}};
    plot_overlay(to, &frame, line, 2);
    plot_key(to, 1);
    fclose(to);
    assert_non_null(strstr(text, "<use href=\"#c1m2\" class=\"k0 d0\" transform=\"matrix(1 0 0 1 0 "
                                 "0)\"><title>Component &lt;1&gt;</title></use>"));
    assert_non_null(
        strstr(text, "<use href=\"#c2m2\" class=\"k1 d1\" transform=\"matrix(1 0 0 0.5 0 44)\">"));
    assert_non_null(strstr(text, "<svg class=\"key k1 d1\" aria-hidden=\"true\""));
    free(text);
}

static void assert_bar(double x, const char *expected)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    const struct plot_scale scale = {-1, 3};
    plot_bar(to, &scale, x);
    fclose(to);
    assert_string_equal(text, expected);
    free(text);
}

static void test_bars(void **state)
{
    (void)state;
    assert_bar(3,
               "<svg aria-hidden=\"true\"><rect x=\"25%\" width=\"75%\" height=\"100%\"/></svg>");
    assert_bar(-1,
               "<svg aria-hidden=\"true\"><rect x=\"0%\" width=\"25%\" height=\"100%\"/></svg>");
    assert_bar(0, "<svg aria-hidden=\"true\"><rect x=\"25%\" width=\"0%\" height=\"100%\"/></svg>");
    assert_bar(NAN, "<svg aria-hidden=\"true\"></svg>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_areas),
        cmocka_unit_test(test_lines_of_nothing),
        cmocka_unit_test(test_inner_ticks),
        cmocka_unit_test(test_texts_that_touch),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_overlay),
        cmocka_unit_test(test_bars),
    };
    return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
