#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/machine.h"
#include "base/memory.h"
#include "support/sanitized.h"

#define SIZE ((size_t)64 << 20)

static char *touched_array(void)
{
    struct error error = {0};
    char *array = memory_array(SIZE, 1, &error);
    assert_non_null(array);
    memset(array, 1, SIZE);
    assert_true(array[SIZE / 2] == 1);
    return array;
}

/* No more than the machine has, and no less than this test takes. */
static void test_available(void **state)
{
    (void)state;
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(machine_memory_available() > (1 << 20));
    assert_true(machine_memory_available() <= all);
    assert_true(MACHINE_MEMORY_FRACTION > 0 && MACHINE_MEMORY_FRACTION < 1);
    assert_int_equal(machine_memory_budget(12345), 12345);
    assert_true(machine_memory_budget(0) > 0 && machine_memory_budget(0) < all);
}

static void test_peak_and_use(void **state)
{
    (void)state;
    assert_true(machine_memory_peak() > 0);
    char *array = touched_array();
    assert_true(machine_memory_peak() >= SIZE);
    assert_true(machine_memory_in_use() >= SIZE &&
                machine_memory_in_use() <= machine_memory_peak());
    memory_free(array);
}

/* What is freed is no longer in use, but stays in the peak. */
static void test_use_falls(void **state)
{
    (void)state;
    char *array = touched_array();
    uint64_t used = machine_memory_in_use(), peak = machine_memory_peak();
    memory_free(array);
    if (!SANITIZED)
        assert_true(machine_memory_in_use() < used - SIZE / 2);
    assert_true(machine_memory_peak() >= peak);
}

static void test_core_cache(void **state)
{
    (void)state;
    assert_in_range(machine_core_cache(), 1 << 14, 1 << 28);
    assert_int_equal(machine_core_cache(), machine_core_cache());
}

static void test_shared_cache(void **state)
{
    (void)state;
    uint64_t bytes = machine_shared_cache();
    assert_true(bytes == 0 || bytes >= machine_core_cache());
    assert_true(bytes <= UINT64_C(1) << 36 && bytes % 1024 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_available),    cmocka_unit_test(test_peak_and_use),
        cmocka_unit_test(test_use_falls),    cmocka_unit_test(test_core_cache),
        cmocka_unit_test(test_shared_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
