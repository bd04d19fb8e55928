#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/pace.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
