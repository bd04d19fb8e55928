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

#include "report/plot_scale.h"

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

static void test_powers(void **state)
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
        cmocka_unit_test(test_scales), cmocka_unit_test(test_odd_scales),
        cmocka_unit_test(test_ticks),  cmocka_unit_test(test_tick_texts),
        cmocka_unit_test(test_powers),
    };
    return cmocka_run_group_tests_name("plot_scale", tests, NULL, NULL);
}
