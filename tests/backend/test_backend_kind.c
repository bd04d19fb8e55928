/* A device wakes in the background: a caller can wait for the outcome or end it. The kinds of
 * backends here do nothing but wake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sched.h>

#include <cmocka.h>

#include "backend/backend_kind.h"

static atomic_bool may_end, has_begun;
static atomic_int woken_device, calls;

static enum status wake_when_told(int device, const atomic_bool *unwanted, struct error *error)
{
    (void)error;
    atomic_store(&woken_device, device);
    atomic_fetch_add(&calls, 1);
    atomic_store(&has_begun, true);
    while (!atomic_load(&may_end) && !atomic_load(unwanted))
        sched_yield();
    return STATUS_OK;
}

static enum status refuse(int device, const atomic_bool *unwanted, struct error *error)
{
    (void)unwanted;
    return error_set(error, STATUS_INPUT, "device %d does not answer", device);
}

static const struct backend_kind slow = {.name = "slow", .wake = wake_when_told};
static const struct backend_kind broken = {.name = "broken", .wake = refuse};
static const struct backend_kind processors = {.name = "processors"};

static int prepare(void **state)
{
    (void)state;
    atomic_store(&may_end, false);
    atomic_store(&has_begun, false);
    atomic_store(&calls, 0);
    return 0;
}

/* The caller goes on while the device wakes, once. */
static void test_wakes_beside_the_caller(void **state)
{
    (void)state;
    struct backend_wake w = {0};
    struct error error = {0};
    backend_wake_begin(&w, &slow, 3);
    while (!atomic_load(&has_begun))
        sched_yield();
    atomic_store(&may_end, true);
    assert_int_equal(backend_wake_wait(&w, &error), STATUS_OK);
    assert_int_equal(backend_wake_wait(&w, &error), STATUS_OK);
    backend_wake_end(&w);
    assert_int_equal(atomic_load(&woken_device), 3);
    assert_int_equal(atomic_load(&calls), 1);
}

/* A caller that fails meanwhile does not wait until the device is ready. */
static void test_ends_when_nobody_waits(void **state)
{
    (void)state;
    struct backend_wake w = {0};
    backend_wake_begin(&w, &slow, 0);
    backend_wake_end(&w);
    assert_int_equal(atomic_load(&calls), 1);
}

static void test_tells_why_it_failed(void **state)
{
    (void)state;
    struct backend_wake w = {0};
    backend_wake_begin(&w, &broken, 5);
    for (int again = 0; again < 2; again++) {
        struct error error = {0};
        assert_int_equal(backend_wake_wait(&w, &error), STATUS_INPUT);
        assert_string_equal(error.message, "device 5 does not answer");
    }
    backend_wake_end(&w);
    struct error now = {0};
    assert_int_equal(backend_wake_now(&broken, 6, &now), STATUS_INPUT);
    assert_string_equal(now.message, "device 6 does not answer");
}

static void test_processors_are_awake(void **state)
{
    (void)state;
    struct backend_wake w = {0};
    struct error error = {0};
    backend_wake_end(&w);
    assert_int_equal(backend_wake_wait(&w, &error), STATUS_OK);
    backend_wake_begin(&w, &processors, 0);
    assert_false(w.running);
    assert_int_equal(backend_wake_wait(&w, &error), STATUS_OK);
    backend_wake_end(&w);
    assert_int_equal(backend_wake_now(&processors, 0, &error), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_wakes_beside_the_caller, prepare),
        cmocka_unit_test_setup(test_ends_when_nobody_waits, prepare),
        cmocka_unit_test_setup(test_tells_why_it_failed, prepare),
        cmocka_unit_test_setup(test_processors_are_awake, prepare),
    };
    return cmocka_run_group_tests_name("backend_wake", tests, NULL, NULL);
}
