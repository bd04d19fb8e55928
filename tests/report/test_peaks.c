/* Peaks, against their definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdbool.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/peaks.h"
#include "support/naive.h"

/* Whether the column falls to PEAK_FALL of its entry i, or below, before it is higher again or
 * ends, on the way from i by `step`; where it ends, it need not fall. Equal entries count as higher
 * ones before i. */
static bool falls(const double *height, int64_t rows, int64_t i, int64_t step)
{
    double least = height[i];
    for (int64_t k = i + step; k >= 0 && k < rows; k += step) {
        if (height[k] > height[i] || (step < 0 && height[k] == height[i]))
            return least <= PEAK_FALL * height[i];
        least = fmin(least, height[k]);
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    double a = fabs(((const struct top_entry *)left)->value),
           b = fabs(((const struct top_entry *)right)->value);
    return a > b ? -1 : a < b;
}

/* All peaks of the column by their definition, the highest first; returns how many. */
static uint64_t naive_peaks(const double *x, int64_t rows, struct top_entry *peak)
{
    double *height = malloc((size_t)rows * sizeof *height);
    uint64_t count = 0, kept = 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int64_t i = 0; i < rows; i++)
            height[i] = fmax(sign * x[i], 0);
        for (int64_t i = 0; i < rows; i++)
            if (height[i] > 0 && falls(height, rows, i, 1) && falls(height, rows, i, -1))
                peak[count++] = (struct top_entry){(uint64_t)i, x[i]};
    }
    qsort(peak, count, sizeof *peak, compare);
    while (kept < count && fabs(peak[kept].value) >= PEAK_LEAST * fabs(peak[0].value))
        kept++;
    free(height);
    return kept;
}

enum { MOST = 400 };

/* The peaks of all columns are those of the definition, and then zeros. */
static void check(const double *a, uint64_t rows, uint64_t rank, uint64_t count)
{
    struct top_entries top;
    struct error error = {0};
    assert_int_equal(peaks_find(&top, a, rows, rank, count, &error), STATUS_OK);
    assert_int_equal(top.count, count < rows ? count : rows);
    for (uint64_t r = 0; r < rank; r++) {
        struct top_entry expected[MOST];
        double column[MOST];
        for (uint64_t i = 0; i < rows; i++)
            column[i] = a[i * rank + r];
        uint64_t peaks = naive_peaks(column, (int64_t)rows, expected);
        for (uint64_t k = 0; k < top.count; k++) {
            const struct top_entry *found = &top.entry[r * top.count + k];
            assert_true(fabs(found->value) == (k < peaks ? fabs(expected[k].value) : 0));
            assert_true(found->value == 0 || column[found->index] == found->value);
        }
    }
    top_entries_free(&top);
    assert_null(top.entry);
}

static void assert_peaks(const double *x, uint64_t rows, const uint64_t *index, uint64_t count)
{
    struct top_entries top;
    struct error error = {0};
    assert_int_equal(peaks_find(&top, x, rows, 1, 3, &error), STATUS_OK);
    for (uint64_t k = 0; k < top.count; k++) {
        if (k < count)
            assert_int_equal(top.entry[k].index, index[k]);
        assert_true((top.entry[k].value != 0) == (k < count));
    }
    top_entries_free(&top);
}

#define ROWS(...)                                                                                  \
    (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double)
#define PEAKS(...)                                                                                 \
    (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

static void test_by_hand(void **state)
{
    (void)state;
    /* one peak has one entry, not three neighbours */
    assert_peaks(ROWS(0, 5, 9, 10, 9, 8, 4, 0), PEAKS(3));
    assert_peaks(ROWS(0, 5, 2, 10, 1, 8, 0), PEAKS(3, 5, 1));
    assert_peaks(ROWS(0, 5, 3, 10, 6, 8, 0), PEAKS(3)); /* shoulders */
    assert_peaks(ROWS(10, 0, 0, 0, 7), PEAKS(0, 4));    /* at the ends */
    assert_peaks(ROWS(0, 3, 3, 3, 0), PEAKS(1));        /* a plateau */
    assert_peaks(ROWS(0, -8, 0, 9, -5, 1), PEAKS(3, 1, 4));
    assert_peaks(ROWS(0, 100, 0, 9, 0, 10, 0), PEAKS(1, 5)); /* low ones */
    assert_peaks(ROWS(0, NAN, 4, NAN, 0), PEAKS(2));
    assert_peaks(ROWS(1, INFINITY, 1), PEAKS(1));
    assert_peaks(ROWS(7), PEAKS(0));
    assert_peaks(ROWS(0, -0.0, 0), NULL, 0);
    assert_peaks(ROWS(NAN, NAN), NULL, 0);
}

static void test_by_definition(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 300; round++) {
        static double a[MOST * 19];
        uint64_t rows = 1 + naive_random(&seed) % MOST, rank = 1 + naive_random(&seed) % 19,
                 most = 2 + naive_random(&seed) % 30;
        double now = 0;
        for (uint64_t i = 0; i < rows * rank; i++) {
            now = round % 2 ? now * 0.9 : 0; /* a walk, or numbers on their own */
            now += (double)(naive_random(&seed) % (2 * most)) - (double)most;
            a[i] = now;
        }
        check(a, rows, rank, naive_random(&seed) % 6);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const double x[] = {1, 0, 2};
    struct top_entries top;
    struct error error = {0};
    memory_hook_set(0);
    assert_int_equal(peaks_find(&top, x, 3, 1, 3, &error), STATUS_MEMORY);
    memory_hook_set(-1);
    assert_null(top.entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_by_definition),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests_name("peaks", tests, NULL, NULL);
}
