#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

/* Of the failures of threads one counts, whole: any, or that of the first item. */
static void test_failures_of_threads(void **state)
{
    (void)state;
    enum { ITEMS = 300, BAD = 70 }; /* every item from BAD on fails */
    struct error any = {0}, of_first = {0}, none = {0};
    uint64_t first = UINT64_MAX, never = UINT64_MAX;
#pragma omp parallel for schedule(dynamic) num_threads(4)
    for (int i = 0; i < ITEMS; i++) {
        struct error own = {0};
        error_take(&none, &own);
        error_take_first(&none, &never, (uint64_t)i, &own);
        if (i >= BAD)
            error_set(&own, STATUS_INPUT, "item %d of %d", i, ITEMS);
        error_take(&any, &own);
        error_take_first(&of_first, &first, (uint64_t)i, &own);
    }
    int item = 0, items = 0;
    assert_int_equal(none.status, STATUS_OK);
    assert_true(never == UINT64_MAX);
    assert_int_equal(any.status, STATUS_INPUT);
    assert_int_equal(sscanf(any.message, "item %d of %d", &item, &items), 2);
    assert_in_range(item, BAD, ITEMS - 1);
    assert_int_equal(first, BAD);
    assert_int_equal(of_first.status, STATUS_INPUT);
    assert_string_equal(of_first.message, "item 70 of 300");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures_of_threads), cmocka_unit_test(test_set),
        cmocka_unit_test(test_deepest_cause_wins),  cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_long_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
