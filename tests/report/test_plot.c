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
    assert_ticks(0, 1, 3, 0, 1);
    assert_ticks(-0.3, 0.7, 2, 0, 0.5);
    assert_ticks(0.585, 0.8238, 3, 0.6, 0.8);
    assert_ticks(0, 1000, 3, 0, 1000);
    /* ticks of a narrow scale can be told apart in six digits */
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
        cmocka_unit_test(test_scales), cmocka_unit_test(test_odd_scales),
        cmocka_unit_test(test_ticks),  cmocka_unit_test(test_lines),
        cmocka_unit_test(test_areas),  cmocka_unit_test(test_lines_of_nothing),
        cmocka_unit_test(test_bars),
    };
    return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
