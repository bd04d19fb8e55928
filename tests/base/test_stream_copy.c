/* Copies past the caches: of every length, to and from every alignment, and nothing beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stream_copy.h"

#define MOST 70

static void test_copies(void **state)
{
    (void)state;
    double from[MOST + 4], to[MOST + 4];
    for (int i = 0; i < MOST + 4; i++)
        from[i] = i + 0.25;
    for (uint64_t count = 0; count <= MOST; count++)
        for (int shift = 0; shift < 4; shift++) {
            double *start = to + shift % 2 + 1;
            for (int i = 0; i < MOST + 4; i++)
                to[i] = -1;
            stream_copy(start, from + shift / 2, count);
            stream_copy_end();
            assert_memory_equal(start, from + shift / 2, count * sizeof *to);
            assert_true(start[-1] == -1 && start[count] == -1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
