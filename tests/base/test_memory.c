#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/machine.h"
#include "base/memory.h"

static void test_alignment(void **state)
{
    (void)state;
    for (size_t count = 0; count < 200; count++) {
        struct error error = {0};
        char *array = memory_array(count, 1, &error);
        assert_non_null(array);
        assert_int_equal((uintptr_t)array % 64, 0);
        memset(array, 1, count);
        memory_free(array);
    }
}

static void test_zeros(void **state)
{
    (void)state;
    struct error error = {0};
    char *dirty = memory_array(1000, 8, &error);
    assert_non_null(dirty);
    memset(dirty, 0xff, 8000);
    memory_free(dirty);
    unsigned char *array = memory_zeros(1000, 8, &error);
    assert_non_null(array);
    for (int i = 0; i < 8000; i++)
        assert_int_equal(array[i], 0);
    memory_free(array);
}

static void test_overflow(void **state)
{
    (void)state;
    const size_t shape[][2] = {{SIZE_MAX, 1},        {SIZE_MAX - 64, 1},
                               {SIZE_MAX / 2, 8},    {8, SIZE_MAX / 2},
                               {SIZE_MAX, SIZE_MAX}, {SIZE_MAX / 8, 8},
                               {1, SIZE_MAX},        {(size_t)1 << 62, (size_t)1 << 2}};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        struct error error = {0};
        assert_null(memory_array(shape[i][0], shape[i][1], &error));
        assert_int_equal(error.status, STATUS_MEMORY);
        error = (struct error){0};
        assert_null(memory_zeros(shape[i][0], shape[i][1], &error));
        assert_int_equal(error.status, STATUS_MEMORY);
    }
}

static void test_resize(void **state)
{
    (void)state;
    struct error error = {0};
    int *array = NULL;
    assert_int_equal(memory_resize(&array, 10, sizeof *array, &error), STATUS_OK);
    for (int i = 0; i < 10; i++)
        array[i] = i;
    assert_int_equal(memory_resize(&array, 100000, sizeof *array, &error), STATUS_OK);
    for (int i = 0; i < 10; i++)
        assert_int_equal(array[i], i);

    const int *old = array;
    assert_int_equal(memory_resize(&array, SIZE_MAX / 2, sizeof *array, &error), STATUS_MEMORY);
    assert_ptr_equal(array, old);
    assert_int_equal(array[9], 9);
    memory_free(array);
}

/* Arrays of huge pages, which become larger and smaller; where memory is refused, they stay. */
static void test_resize_huge(void **state)
{
    (void)state;
    static const size_t counts[] = {3000000, 2500000, 5000001, 4999999, 100, 6000000};
    struct error error = {0};
    uint64_t *array = memory_array(counts[0], sizeof *array, &error), filled = counts[0];
    assert_non_null(array);
    for (uint64_t i = 0; i < filled; i++)
        array[i] = i * 3 + 1;
    for (size_t k = 1; k < sizeof counts / sizeof *counts; k++) {
        const uint64_t *old = array;
        memory_hook_set(0);
        assert_int_equal(memory_resize(&array, counts[k], sizeof *array, &error), STATUS_MEMORY);
        memory_hook_set(-1);
        assert_ptr_equal(array, old);
        error = (struct error){0};
        assert_int_equal(memory_resize(&array, counts[k], sizeof *array, &error), STATUS_OK);
        filled = filled < counts[k] ? filled : counts[k];
        for (uint64_t i = 0; i < filled; i++)
            assert_int_equal(array[i], i * 3 + 1);
        for (; filled < counts[k]; filled++)
            array[filled] = filled * 3 + 1;
    }
    memory_free(array);
}

static void test_text(void **state)
{
    (void)state;
    struct error error = {0};
    char *text = memory_text(&error, "%s.mode%d.mat", "stem", 3);
    assert_non_null(text);
    assert_string_equal(text, "stem.mode3.mat");
    memory_free(text);
    text = memory_text(&error, "%s", "");
    assert_non_null(text);
    assert_string_equal(text, "");
    memory_free(text);
}

/* The hook makes exactly the chosen allocation fail, whatever kind it is. */
static void test_hook(void **state)
{
    (void)state;
    for (long k = 0; k < 5; k++) {
        memory_hook_set(k);
        for (long i = 0; i < 8; i++) {
            struct error error = {0};
            void *array = NULL;
            if (i % 4 == 0)
                array = memory_array(3, 8, &error);
            else if (i % 4 == 1)
                array = memory_zeros(3, 8, &error);
            else if (i % 4 == 2)
                memory_resize(&array, 3, 8, &error);
            else
                array = memory_text(&error, "%d", 3);
            assert_int_equal(array == NULL, i == k);
            assert_int_equal(error.status, i == k ? STATUS_MEMORY : STATUS_OK);
            assert_int_equal(memory_hook_fired(), i >= k);
            memory_free(array);
        }
    }
    memory_hook_set(-1);
    assert_int_equal(memory_hook_fired(), 0);
    struct error error = {0};
    void *array = memory_array(1, 1, &error);
    assert_non_null(array);
    memory_free(array);
}

static void test_pages(void **state)
{
    (void)state;
    for (size_t size = 1; size < (size_t)64 << 20; size = size * 5 + 1) {
        struct error error = {0};
        char *array = memory_pages(size, &error);
        assert_non_null(array);
        assert_int_equal((uintptr_t)array % 4096, 0);
        memory_free(array);
    }
}

/* Of all lengths near those at which threads divide the bytes; nothing after them changes. */
static void test_copy(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 1 << 20, (1 << 20) + 1, (5 << 20) - 1, 9 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct error error = {0};
        unsigned char *from = memory_array(sizes[s] + 1, 1, &error);
        unsigned char *to = memory_zeros(sizes[s] + 1, 1, &error);
        for (size_t i = 0; i <= sizes[s]; i++)
            from[i] = (unsigned char)(i * 7 + i / 256 + 1);
        memory_copy(to, from, sizes[s]);
        assert_memory_equal(to, from, sizes[s]);
        assert_int_equal(to[sizes[s]], 0);
        memory_free(from);
        memory_free(to);
    }
}

#define MOST_COPIED 70

/* Of every length, to and from every alignment, and nothing beyond. */
static void test_copy_uncached(void **state)
{
    (void)state;
    double from[MOST_COPIED + 4], to[MOST_COPIED + 4];
    for (int i = 0; i < MOST_COPIED + 4; i++)
        from[i] = i + 0.25;
    for (uint64_t count = 0; count <= MOST_COPIED; count++)
        for (int shift = 0; shift < 4; shift++) {
            double *start = to + shift % 2 + 1;
            for (int i = 0; i < MOST_COPIED + 4; i++)
                to[i] = -1;
            memory_copy_uncached(start, from + shift / 2, count);
            memory_uncached_end();
            assert_memory_equal(start, from + shift / 2, count * sizeof *to);
            assert_true(start[-1] == -1 && start[count] == -1);
        }
}

/* Small arrays between arrays that stay: what they took is given back, what stays is as it was. */
static void test_give_back(void **state)
{
    (void)state;
    enum { COUNT = 2000, BYTES = 40000 };
    static char *array[COUNT];
    struct error error = {0};
    for (int i = 0; i < COUNT; i++) {
        array[i] = memory_array(BYTES, 1, &error);
        assert_non_null(array[i]);
        memset(array[i], i, BYTES);
    }
    for (int i = 0; i < COUNT; i++)
        if (i % 10) {
            memory_free(array[i]);
            array[i] = NULL;
        }
    uint64_t before = machine_memory_in_use();
    memory_give_back();
    uint64_t after = machine_memory_in_use();
    (void)before, (void)after;
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
    assert_true(after < before - COUNT * BYTES / 2); /* sanitizers have their own allocators */
#endif
    for (int i = 0; i < COUNT; i += 10) {
        for (int k = 0; k < BYTES; k++)
            assert_int_equal(array[i][k], (char)i);
        memory_free(array[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment),   cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_overflow),    cmocka_unit_test(test_resize),
        cmocka_unit_test(test_resize_huge), cmocka_unit_test(test_text),
        cmocka_unit_test(test_hook),        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_copy),        cmocka_unit_test(test_copy_uncached),
        cmocka_unit_test(test_give_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
