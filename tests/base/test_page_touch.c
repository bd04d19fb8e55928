/* Arrays whose pages are touched ahead of their use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/page_touch.h"

#define BYTES ((size_t)80 << 20)

static char *fresh(size_t bytes)
{
    char *array = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(array != MAP_FAILED);
    madvise(array, bytes, MADV_NOHUGEPAGE); /* of which one reaches beyond what is touched */
    return array;
}

/* How many of the pages are in memory. */
static size_t resident(char *array, size_t bytes)
{
    size_t pages = bytes / (size_t)sysconf(_SC_PAGESIZE), count = 0;
    unsigned char *in = malloc(pages);
    assert_non_null(in);
    assert_int_equal(mincore(array, bytes, in), 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    free(in);
    return count;
}

static void test_all_pages(void **state)
{
    (void)state;
    const size_t pages = BYTES / (size_t)sysconf(_SC_PAGESIZE);
    struct page_touch p;
    char *a = fresh(BYTES), *b = fresh(BYTES);
    page_touch_begin(&p);
    page_touch_add(&p, a, BYTES);
    page_touch_add(&p, b + 1, BYTES / 2 - 2); /* whole pages inside count */
    assert_int_equal(resident(a, BYTES), 0);
    page_touch_start(&p);
    double until = clock_now() + 60;
    while ((resident(a, BYTES) < pages || resident(b, BYTES) < pages / 2 - 2) &&
           clock_now() < until)
        usleep(1000);
    page_touch_end(&p);
    assert_int_equal(resident(a, BYTES), pages);
    assert_true(resident(b, BYTES) >= pages / 2 - 2);
    assert_true(resident(b + BYTES / 2, BYTES / 2) == 0); /* nothing beyond the array */
    munmap(a, BYTES);
    munmap(b, BYTES);
}

static void test_ended_early(void **state)
{
    (void)state;
    struct page_touch p;
    char *a = fresh(BYTES);
    page_touch_begin(&p);
    page_touch_end(&p); /* not started */
    page_touch_begin(&p);
    page_touch_add(&p, a, BYTES);
    page_touch_start(&p);
    page_touch_end(&p);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(a[i], 0);
    munmap(a, BYTES);
}

/* A small array is left alone. */
static void test_small(void **state)
{
    (void)state;
    struct page_touch p;
    char *a = fresh(BYTES);
    page_touch_begin(&p);
    page_touch_add(&p, a, 1 << 20);
    page_touch_start(&p);
    assert_int_equal(p.threads, 0);
    page_touch_end(&p);
    assert_int_equal(resident(a, BYTES), 0);
    munmap(a, BYTES);
}

/* All whole pages of the array, and nothing beyond them. */
static void test_now(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)9 << 20;
    for (size_t offset = 0; offset < 3; offset++) {
        struct page_touch p;
        char *a = fresh(BYTES), *b = fresh(BYTES), *first = a + 5 * page + offset;
        first[-1] = 7;
        page_touch_begin(&p);
        page_touch_add(&p, first, bytes);
        page_touch_add(&p, b, page);
        page_touch_now(&p);
        page_touch_end(&p);
        assert_int_equal(first[-1], 7);
        assert_int_equal(resident(a + 6 * page, bytes - 2 * page), bytes / page - 2);
        assert_int_equal(resident(a, BYTES), bytes / page + (offset == 0)); /* that of first[-1] */
        assert_int_equal(resident(b, BYTES), 1);
        munmap(a, BYTES);
        munmap(b, BYTES);
    }
}

static void test_now_leaves_small_arrays(void **state)
{
    (void)state;
    struct page_touch p;
    char *a = fresh(BYTES);
    page_touch_begin(&p);
    page_touch_now(&p);
    page_touch_add(&p, a, 1 << 20);
    page_touch_now(&p);
    assert_int_equal(resident(a, BYTES), 0);
    munmap(a, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pages),
        cmocka_unit_test(test_ended_early),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_now),
        cmocka_unit_test(test_now_leaves_small_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
