#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static void test_set(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(error_set(&error, STATUS_INPUT, "%s:%d: bad", "x.tns", 17), STATUS_INPUT);
    assert_int_equal(error.status, STATUS_INPUT);
    assert_string_equal(error.message, "x.tns:17: bad");
}

static void test_deepest_cause_wins(void **state)
{
    (void)state;
    struct error error = {0};
    error_set(&error, STATUS_MEMORY, "first");
    assert_int_equal(error_set(&error, STATUS_INTERNAL, "second"), STATUS_MEMORY);
    assert_string_equal(error.message, "first");
}

static void test_prefix(void **state)
{
    (void)state;
    struct error error = {0};
    error_set(&error, STATUS_NUMERICAL, "a NaN");
    assert_int_equal(error_prefix(&error, "mode %d: ", 2), STATUS_NUMERICAL);
    error_prefix(&error, "iteration %d: ", 3);
    assert_string_equal(error.message, "iteration 3: mode 2: a NaN");
}

/* Whatever the lengths, the message ends within its array. */
static void test_long_messages(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    struct error error = {0};
    error_set(&error, STATUS_INPUT, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    error_prefix(&error, "%s", "context: ");
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.message, "context: xxx", 12);
    error_prefix(&error, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.message, "xxxxxxxx", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_deepest_cause_wins),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_long_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
