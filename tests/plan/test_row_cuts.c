/* Cuts of a mode's rows: no cuts are better, and those of long modes are those that plain passes
 * over all rows make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "plan/row_cuts.h"
#include "support/naive.h"
#include "support/naive_cuts.h"

static uint64_t cut_into(const uint64_t *count, uint64_t length, int parts, uint64_t *cut)
{
    struct error error = {0};
    struct row_sums sums;
    assert_int_equal(row_sums_create(&sums, count, length, &error), STATUS_OK);
    uint64_t fullest = row_sums_cut(&sums, parts, cut);
    row_sums_free(&sums);
    return fullest;
}

/* The least possible load of the range with most nonzeros, by trying all cuts. */
static uint64_t best_load(const uint64_t *count, uint64_t length, int parts)
{
    uint64_t all = 0, best = UINT64_MAX, first = 0;
    for (uint64_t i = 0; i < length; i++)
        all += count[i];
    if (parts == 1)
        return all;
    for (uint64_t cut = 0; cut <= length; cut++) {
        uint64_t rest = best_load(count + cut, length - cut, parts - 1);
        uint64_t load = first > rest ? first : rest;
        best = load < best ? load : best;
        first += cut < length ? count[cut] : 0;
    }
    return best;
}

static void test_cut(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 300; i++) {
        uint64_t count[9], cut[7], length = 1 + naive_random(&seed) % 9, largest = 0;
        int parts = 1 + i % 6;
        for (uint64_t k = 0; k < length; k++)
            count[k] = naive_random(&seed) % (i % 3 == 0 ? 2 : 50);
        uint64_t load_of_fullest = cut_into(count, length, parts, cut);
        assert_int_equal(cut[0], 0);
        assert_int_equal(cut[parts], length);
        for (int p = 0; p < parts; p++) {
            uint64_t load = 0;
            assert_true(cut[p] <= cut[p + 1]);
            for (uint64_t k = cut[p]; k < cut[p + 1]; k++)
                load += count[k];
            largest = load > largest ? load : largest;
        }
        assert_int_equal(largest, best_load(count, length, parts));
        assert_int_equal(load_of_fullest, largest);
    }
}

/* Lengths around whole steps of the sums, rows without nonzeros, and rows heavier than a share. */
static void test_long_modes(void **state)
{
    (void)state;
    enum { LONGEST = 5 * ROW_SUMS_STEP, MOST_PARTS = 100 };
    static const uint64_t lengths[] = {1,
                                       ROW_SUMS_STEP - 1,
                                       ROW_SUMS_STEP,
                                       ROW_SUMS_STEP + 1,
                                       2 * ROW_SUMS_STEP,
                                       3 * ROW_SUMS_STEP + 7,
                                       LONGEST};
    uint64_t seed = 5;
    for (int i = 0; i < 2000; i++) {
        uint64_t count[LONGEST], cut[MOST_PARTS + 1], expected[MOST_PARTS + 1];
        uint64_t length = lengths[naive_random(&seed) % (sizeof lengths / sizeof *lengths)];
        int parts = 1 + (int)(naive_random(&seed) % MOST_PARTS);
        for (uint64_t k = 0; k < length; k++) {
            count[k] = naive_random(&seed) % 10;
            if (i % 4 == 1)
                count[k] = count[k] == 0;
            else if (i % 4 == 2)
                count[k] = count[k] == 0 ? 1000000 : 3;
            else if (i % 4 == 3)
                count[k] = 0;
        }
        uint64_t fullest = cut_into(count, length, parts, cut);
        assert_int_equal(fullest, naive_cut(count, length, parts, expected));
        assert_memory_equal(cut, expected, ((size_t)parts + 1) * sizeof *cut);
    }
}

/* Of ranges that begin at the same row, the last one has the row: the others are empty. */
static void test_range(void **state)
{
    (void)state;
    static const uint64_t cut[] = {0, 0, 3, 3, 3, 9, 9};
    static const int range[] = {1, 1, 1, 4, 4, 4, 4, 4, 4};
    for (uint64_t row = 0; row < 9; row++)
        assert_int_equal(row_cuts_range(cut, 6, row), range[row]);
    assert_int_equal(row_cuts_range((uint64_t[]){0, 9}, 1, 8), 0);
}

static void test_failing_allocation(void **state)
{
    (void)state;
    struct error error = {0};
    struct row_sums sums;
    memory_hook_set(0);
    assert_int_equal(row_sums_create(&sums, (uint64_t[]){1, 2}, 2, &error), STATUS_MEMORY);
    memory_hook_set(-1);
    assert_null(sums.before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_long_modes),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
