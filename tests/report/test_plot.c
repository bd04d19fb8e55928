#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <float.h>
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

/* Points of a column that would cover each other are drawn once, and none where there is no number.
 */
static void test_points(void **state)
{
    (void)state;
    static char text[65536];
    static const double x[] = {1, .5};
    static const struct plot_point point[] = {{0, 1},   {0, .5},  {0, .5 + 1e-9}, {0, NAN},
                                              {0, 1e9}, {1, .25}, {1, .5},        {1, -INFINITY}};
    FILE *to = fmemopen(text, sizeof text, "w");
    const struct plot_line plot = {.title = "",
                                   .about = "",
                                   .first = "",
                                   .last = "",
                                   .count = 2,
                                   .stride = 1,
                                   .low = x,
                                   .high = x,
                                   .marks = 1,
                                   .scale = {0, 1},
                                   .point = point,
                                   .points = sizeof point / sizeof *point};
    plot_line(to, &plot);
    fclose(to);
    assert_int_equal(count_of(text, "class=\"point\""), 4);
    assert_int_equal(count_of(text, "class=\"point\" cx=\"92\""), 2);
    assert_int_equal(count_of(text, "<circle"), 6);
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

static struct plot_scale scale_of(const double *x, int count)
{
    struct plot_scale scale = plot_scale_none();
    for (int i = 0; i < count; i++)
        plot_scale_add(&scale, x[i]);
    plot_scale_finish(&scale);
    return scale;
}

static void test_scales(void **state)
{
    (void)state;
    const double x[] = {NAN, 3, -1, INFINITY, 2, -INFINITY};
    struct plot_scale scale = scale_of(x, 6);
    assert_true(scale.least == -1 && scale.most == 3);
    assert_true(plot_scale_place(&scale, -1) == 0);
    assert_true(plot_scale_place(&scale, 1) == 0.5);
    assert_true(plot_scale_place(&scale, 3) == 1);
    assert_true(plot_scale_place(&scale, 9) == 1);
    assert_true(plot_scale_place(&scale, -INFINITY) == 0);
}

/* Whatever the numbers are, a scale has some width, and places are from 0 to 1. */
static void test_odd_scales(void **state)
{
    (void)state;
    const double odd[][2] = {{0, 0},           {NAN, NAN},          {5, 5},
                             {-5, -5},         {DBL_MAX, -DBL_MAX}, {DBL_MAX, DBL_MAX},
                             {1, 1 + 1e-15},   {4e-324, 4e-324},    {0, 4e-324},
                             {1e-300, 2e-300}, {INFINITY, 1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct plot_scale scale = scale_of(odd[i], 2);
        double tick[PLOT_TICKS];
        assert_true(isfinite(scale.least) && isfinite(scale.most) && scale.least < scale.most);
        for (int k = 0; k < 2; k++) {
            double place = plot_scale_place(&scale, isnan(odd[i][k]) ? 0.5 : odd[i][k]);
            assert_true(place >= 0 && place <= 1);
        }
        int ticks = plot_ticks(&scale, tick);
        assert_in_range(ticks, 0, PLOT_TICKS);
        for (int k = 0; k < ticks; k++)
            assert_true(tick[k] >= scale.least && tick[k] <= scale.most);
    }
}

static void assert_ticks(double least, double most, int count, double first, double last)
{
    struct plot_scale scale = {least, most};
    double tick[PLOT_TICKS];
    assert_int_equal(plot_ticks(&scale, tick), count);
    assert_true(fabs(tick[0] - first) <= 1e-12 * fabs(most));
    assert_true(fabs(tick[count - 1] - last) <= 1e-12 * fabs(most));
    for (int i = 0; i < count; i++)
        assert_false(tick[i] == 0 && signbit(tick[i]));
}

static void test_ticks(void **state)
{
    (void)state;
    assert_ticks(0, 1, 6, 0, 1);
    assert_ticks(-0.3, 0.7, 5, -0.2, 0.6);
    assert_ticks(0.585, 0.8238, 5, 0.6, 0.8);
    assert_ticks(0, 1000, 6, 0, 1000);
    assert_ticks(-0.003, 1, 6, 0, 1);
    /* ticks of a narrow scale differ in six digits */
    const double near[] = {0.99999999999, 1};
    struct plot_scale scale = scale_of(near, 2);
    double tick[PLOT_TICKS];
    int count = plot_ticks(&scale, tick);
    assert_true(count >= 2);
    for (int i = 1; i < count; i++) {
        char text[2][32];
        snprintf(text[0], 32, "%.6g", tick[i - 1]);
        snprintf(text[1], 32, "%.6g", tick[i]);
        assert_string_not_equal(text[0], text[1]);
    }
}

static void assert_texts(double least, double most, const char *first, const char *second)
{
    struct plot_scale scale = {least, most};
    double tick[PLOT_TICKS];
    char text[PLOT_TICK_ROOM];
    int count = plot_ticks(&scale, tick);
    assert_string_equal(plot_tick_text(tick, count, 0, text), first);
    assert_string_equal(plot_tick_text(tick, count, 1, text), second);
}

/* The ticks of an axis have the same decimals. */
static void test_tick_texts(void **state)
{
    (void)state;
    assert_texts(0, 1, "0.0", "0.2");
    assert_texts(0.58, 0.83, "0.60", "0.65");
    assert_texts(-0.3, 0.7, "-0.2", "0.0");
    assert_texts(0, 50000, "0", "10000");
    assert_texts(0, 5e7, "0", "1e+07");
    assert_texts(0, 5e-7, "0", "1e-07");
    const double alone = 0;
    char text[PLOT_TICK_ROOM];
    assert_string_equal(plot_tick_text(&alone, 1, 0, text), "0");
}

static void test_texts_of_powers(void **state)
{
    (void)state;
    char text[PLOT_TICK_ROOM];
    assert_string_equal(plot_power_text(0, text), "1");
    assert_string_equal(plot_power_text(3, text), "10\xc2\xb3");
    assert_string_equal(plot_power_text(-12, text), "10\xe2\x81\xbb\xc2\xb9\xc2\xb2");
    assert_true(strlen(plot_power_text(-DBL_MAX, text)) < PLOT_TICK_ROOM);
    struct plot_scale scale = {-6.3, -0.2};
    plot_scale_widen_to_powers(&scale);
    assert_true(scale.least == -7 && scale.most == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_areas),
        cmocka_unit_test(test_points),      cmocka_unit_test(test_lines_of_nothing),
        cmocka_unit_test(test_inner_ticks), cmocka_unit_test(test_texts_that_touch),
        cmocka_unit_test(test_powers),      cmocka_unit_test(test_overlay),
        cmocka_unit_test(test_bars),        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_odd_scales),  cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_tick_texts),  cmocka_unit_test(test_texts_of_powers),
    };
    return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
