#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

static void time_does_not_go_back(void **state)
{
    (void)state;
    double before = clock_now();
    for (int i = 0; i < 1000; i++) {
        double now = clock_now();
        assert_true(now >= before);
        before = now;
    }
}

/* Laps add up to the time from the first beginning to the last. */
static void laps_leave_no_gap(void **state)
{
    (void)state;
    const double begin = clock_now();
    double start = begin, sum = 0;
    for (int i = 0; i < 1000; i++) {
        double lap = clock_lap(&start);
        assert_true(lap >= 0);
        sum += lap;
    }
    assert_true(start > begin && start <= clock_now());
    assert_true(fabs(sum - (start - begin)) < 1e-9);
}

/* A lap lasts as long as what happened in it, in seconds. */
static void laps_are_seconds(void **state)
{
    (void)state;
    const struct timespec pause = {.tv_nsec = 20000000};
    const double before = clock_now();
    double start = before;
    nanosleep(&pause, NULL);
    double lap = clock_lap(&start), all = clock_now() - before;
    assert_true(lap >= 0.02 && lap <= all);
    assert_true(fabs(start - before - lap) < 1e-9);
    lap = clock_lap(&start);
    assert_true(lap >= 0 && lap <= clock_now() - before - 0.02);
}

/* ---  --- */

static void test_pace(void **state)
{
    (void)state;
    char text[PACE_TEXT];
    assert_string_equal(pace(100, "MB/s", 0.25, text), " in 0.25 s, 400 MB/s");
    assert_string_equal(pace(1, "million a second", 0.5, text), " in 0.50 s, 2.0 million a second");
    assert_string_equal(pace(100, NULL, 12.345, text), " in 12.35 s");
    assert_string_equal(pace(0.0004, "MB/s", 0.0001, text), "");
    assert_string_equal(pace(0.0004, "MB/s", 0, text), "");
    assert_string_equal(pace(0.0004, NULL, 0.009, text), "");
    assert_string_equal(pace(1e300, "MB/s", 1, text) + PACE_TEXT - 1, "");
    assert_string_equal(pace_bytes(100000000, "", 0.25, text), " in 0.25 s, 400 MB/s");
    assert_string_equal(pace_bytes(1200000000, " of text", 0.5, text),
                        " in 0.50 s, 2.40 GB/s of text");
    assert_string_equal(pace_bytes(20, "", 0.5, text), " in 0.50 s, 40 bytes/s");
    assert_string_equal(pace_bytes(100, "", 0.001, text), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_does_not_go_back),
        cmocka_unit_test(laps_leave_no_gap),
        cmocka_unit_test(laps_are_seconds),
        cmocka_unit_test(test_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
