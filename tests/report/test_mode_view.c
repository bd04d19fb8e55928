/* Profiles, peaks, against their definition, and how modes are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/mode_view.h"
#include "support/naive.h"

#define ROWS 1000
#define RANK 3

/* Column 0 is a wave, column 1 alternates, column 2 is constant. */
static void fill(double *a)
{
    for (int i = 0; i < ROWS; i++) {
        a[i * RANK] = sin(i * 0.01);
        a[i * RANK + 1] = i % 2 ? 1 : -1;
        a[i * RANK + 2] = 0.5;
    }
}

static void test_every_row_is_in_one_column(void **state)
{
    (void)state;
    static double a[ROWS * RANK];
    struct error error = {0};
    struct profile p;
    fill(a);
    a[7 * RANK] = 100;    /* a peak */
    a[998 * RANK] = -100; /* and a dip */
    assert_int_equal(profile_take(&p, a, ROWS, RANK, 7, &error), STATUS_OK);
    assert_int_equal(p.columns, 7);
    for (uint64_t c = 0; c < 7; c++) {
        double low = INFINITY, high = -INFINITY;
        for (uint64_t i = c * ROWS / 7; i < (c + 1) * ROWS / 7; i++) {
            low = fmin(low, a[i * RANK]);
            high = fmax(high, a[i * RANK]);
        }
        assert_true(p.low[c * RANK] == low && p.high[c * RANK] == high);
        assert_true(p.low[c * RANK + 1] == -1 && p.high[c * RANK + 1] == 1);
        assert_true(p.low[c * RANK + 2] == 0.5 && p.high[c * RANK + 2] == 0.5);
    }
    assert_true(p.high[0] == 100 && p.low[6 * RANK] == -100);
    profile_free(&p);
}

static void test_few_rows_and_no_numbers(void **state)
{
    (void)state;
    const double a[] = {NAN, 1, INFINITY, 2, -3, NAN};
    struct error error = {0};
    struct profile p;
    assert_int_equal(profile_take(&p, a, 3, 2, 10, &error), STATUS_OK);
    assert_int_equal(p.columns, 3);
    assert_true(isnan(p.low[0]) && isnan(p.high[0]) && isnan(p.low[2]));
    assert_true(p.low[4] == -3 && p.high[4] == -3 && p.low[1] == 1 && isnan(p.high[5]));
    profile_free(&p);
    assert_int_equal(profile_take(&p, a, 3, 2, 1, &error), STATUS_OK);
    assert_true(p.low[0] == -3 && p.high[0] == -3 && p.low[1] == 1 && p.high[1] == 2);
    profile_free(&p);
}

static void test_smoothness(void **state)
{
    (void)state;
    static double a[ROWS * RANK], one[ROWS];
    fill(a);
    for (int i = 0; i < ROWS; i++)
        one[i] = a[i * RANK];
    assert_true(profile_smoothness(one, ROWS, 1) > 0.99);
    for (int i = 0; i < ROWS; i++)
        one[i] = a[i * RANK + 1];
    assert_true(profile_smoothness(one, ROWS, 1) < -0.99);
    assert_true(fabs(profile_smoothness(a, ROWS, RANK)) <
                0.01); /* the constant one does not count */
    for (int i = 0; i < ROWS; i++)
        one[i] = 2;
    assert_true(profile_smoothness(one, ROWS, 1) == 0);
    one[5] = NAN;
    assert_true(profile_smoothness(one, ROWS, 1) == 0);
    assert_true(profile_smoothness(one, 1, 1) == 0);
}

/* A model of the modes 20 (short), ROWS (a wave) and ROWS (alternating), of rank 2. */
static void make_model(struct ktensor *k)
{
    struct error error = {0};
    const struct shape shape = {.order = 3, .dims = {20, ROWS, ROWS}};
    assert_int_equal(ktensor_create(k, &shape, 2, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_RANDOM, 1);
    for (int i = 0; i < 2 * ROWS; i++) {
        k->factor[1][i] = sin((i / 2) * 0.01);
        k->factor[2][i] = (i / 2) % 2 ? 1 : -1;
    }
}

static void test_views(void **state)
{
    (void)state;
    struct ktensor k;
    struct labels labels = {0};
    struct mode_view view[MAX_ORDER];
    struct error error = {0};
    enum view_order order[MAX_ORDER] = {VIEW_FIND_OUT};
    make_model(&k);
    assert_int_equal(mode_views_make(view, &k, &labels, order, 12, &error), STATUS_OK);
    assert_int_equal(view[0].kind, VIEW_AS_BARS);
    assert_int_equal(view[1].kind, VIEW_AS_LINE);
    assert_int_equal(view[2].kind, VIEW_AS_TOP);
    assert_int_equal(view[1].profile.columns, VIEW_MOST_COLUMNS);
    assert_int_equal(view[0].top.count, 1);
    assert_int_equal(view[1].top.count, VIEW_NAMED);
    assert_int_equal(view[2].top.count, 12);
    assert_int_equal(view[1].top.entry[0].index, 157); /* the peaks of the wave */
    assert_int_equal(view[1].top.entry[2].index, 785);
    mode_views_free(view);
    order[0] = order[2] = VIEW_ORDERED;
    order[1] = VIEW_UNORDERED;
    assert_int_equal(mode_views_make(view, &k, &labels, order, 5000, &error), STATUS_OK);
    assert_int_equal(view[0].kind, VIEW_AS_BARS);
    assert_int_equal(view[1].kind, VIEW_AS_TOP);
    assert_int_equal(view[2].kind, VIEW_AS_LINE);
    assert_int_equal(view[1].top.count, ROWS);
    mode_views_free(view);
    ktensor_free(&k);
}

static void test_names_that_ascend(void **state)
{
    (void)state;
    static const struct {
        bool ascend;
        const char *name[4]; /* NULL: an index without a name */
    } cases[] = {
        {true, {"Mon 00", "Mon 23", "Tue 00", "Sun 23"}},
        {false, {"Mon 00", "Tue 00", "Mon 23", "Sun 23"}},
        {true, {"2026-02-28", "2026-03-01", "2026-03-01T14:05", "2026-03-01T14:05:00.5"}},
        {true, {"1999-12", "2000-01", "2000-02", "2001-01"}},
        {true, {"08:00", "08:30", "17:00", "17:00:01"}},
        {true, {"-3", "2.5", "10", "1e3"}}, /* as numbers, not as words */
        {false, {"1", "10", "2", "3"}},
        {false, {"1", "1", "2", "3"}},
        {false, {"1", "2", NULL, "3"}},
        {false, {"1", "2", "3", "2026-01-01"}},
        {false, {"ann", "bob", "cem", "dora"}},
        {false, {"Mon 24", "Tue 00", "Wed 00", "Thu 00"}},
        {false, {"2026-02-28", "2026-02-29", "2026-03-01", "2026-03-02"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct labels labels = {0};
        struct error error = {0};
        for (int i = 0; i < 4; i++) {
            const char *name = cases[c].name[i] ? cases[c].name[i] : "";
            assert_int_equal(
                name_table_append(&labels.mode[1].names, (struct name){name, strlen(name)}, &error),
                STATUS_OK);
        }
        assert_true(names_ascend(&labels, 1, 4) == cases[c].ascend);
        assert_false(names_ascend(&labels, 0, 4)); /* a mode without names */
        labels_free(&labels);
    }
}

/* Ticks stand where something round begins: a number, a day, a Monday, a quarter. */
static void test_ticks_of_names(void **state)
{
    (void)state;
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    static const struct {
        int rows, ticks;
        uint64_t entry[PLOT_TICKS];
        const char *number[PLOT_TICKS];
    } cases[] = {
        {31, 2, {10, 20}, {"300", "350"}}, /* 250, 255, ..., 400 */
        {168,
         6,
         {24, 48, 72, 96, 120, 144},
         {"Tue 00", "Wed 00", "Thu 00", "Fri 00", "Sat 00", "Sun 00"}},
        {24, 5, {4, 8, 12, 16, 20}, {"07:00", "08:00", "09:00", "10:00", "11:00"}},
        {21,
         6,
         {3, 6, 9, 12, 15, 18},
         {"2025-01", "2025-04", "2025-07", "2025-10", "2026-01", "2026-04"}},
        {30, 4, {6, 13, 20, 27}, {"01-26", "02-02", "02-09", "02-16"}}, /* Mondays */
        {48, 3, {12, 24, 36}, {"12:00", "00:00", "12:00"}},             /* two days by the hour */
        {30, 2, {10, 20}, {"2020", "2030"}},                            /* days of 30 years */
    };
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
        const struct shape shape = {.order = 1, .dims = {(uint64_t)cases[c].rows}};
        const enum view_order order[MAX_ORDER] = {VIEW_FIND_OUT};
        struct labels labels = {0};
        struct error error = {0};
        struct ktensor k;
        struct mode_view view[MAX_ORDER];
        for (int i = 0; i < cases[c].rows; i++) {
            char name[64];
            if (c == 0)
                snprintf(name, sizeof name, "%d", 250 + 5 * i);
            else if (c == 1)
                snprintf(name, sizeof name, "%s %02d", days[i / 24], i % 24);
            else if (c == 2)
                snprintf(name, sizeof name, "%02d:%02d", 6 + i / 4, i % 4 * 15);
            else if (c == 3)
                snprintf(name, sizeof name, "%d-%02d", 2024 + (i + 9) / 12, (i + 9) % 12 + 1);
            else if (c == 4)
                snprintf(name, sizeof name, "2026-%02d-%02d", 1 + (i >= 12),
                         i < 12 ? 20 + i : i - 11);
            else if (c == 5)
                snprintf(name, sizeof name, "2026-11-%02dT%02d:00", 2 + i / 24, i % 24);
            else
                snprintf(name, sizeof name, "%d-06-30", 2010 + i);
            assert_int_equal(
                name_table_append(&labels.mode[0].names, (struct name){name, strlen(name)}, &error),
                STATUS_OK);
        }
        assert_int_equal(ktensor_create(&k, &shape, 1, &error), STATUS_OK);
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        assert_int_equal(mode_views_make(view, &k, &labels, order, 1, &error), STATUS_OK);
        assert_int_equal(view[0].kind, VIEW_AS_LINE);
        assert_int_equal(view[0].ticks, cases[c].ticks);
        for (int t = 0; t < cases[c].ticks; t++) {
            assert_int_equal(view[0].tick[t].entry, cases[c].entry[t]);
            assert_string_equal(view[0].tick[t].number, cases[c].number[t]);
        }
        mode_views_free(view);
        ktensor_free(&k);
        labels_free(&labels);
    }
}

static void test_many_lines_have_fewer_columns(void **state)
{
    (void)state;
    const struct shape shape = {.order = 1, .dims = {300}};
    const enum view_order order[MAX_ORDER] = {VIEW_ORDERED};
    static const struct {
        uint64_t rank, columns;
    } cases[] = {{1, 240}, {1000, 80}, {4000, 40}};
    for (int i = 0; i < 3; i++) {
        struct ktensor k;
        struct labels labels = {0};
        struct mode_view view[MAX_ORDER];
        struct error error = {0};
        assert_int_equal(ktensor_create(&k, &shape, cases[i].rank, &error), STATUS_OK);
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        assert_int_equal(mode_views_make(view, &k, &labels, order, 1, &error), STATUS_OK);
        assert_int_equal(view[0].profile.columns, cases[i].columns);
        mode_views_free(view);
        ktensor_free(&k);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct ktensor k;
    struct labels labels = {0};
    const enum view_order order[MAX_ORDER] = {VIEW_FIND_OUT};
    int count = 0, fired;
    make_model(&k);
    do {
        struct mode_view view[MAX_ORDER];
        struct error error = {0};
        memory_hook_set(count++);
        mode_views_make(view, &k, &labels, order, 5, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(error.status, fired ? STATUS_MEMORY : STATUS_OK);
        mode_views_free(view);
    } while (fired);
    assert_true(count > 5);
    ktensor_free(&k);
}

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
static void check_peaks(const double *a, uint64_t rows, uint64_t rank, uint64_t count)
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

#define COLUMN(...)                                                                                \
    (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double)
#define PEAKS(...)                                                                                 \
    (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

static void test_by_hand(void **state)
{
    (void)state;
    /* one peak has one entry, not three neighbours */
    assert_peaks(COLUMN(0, 5, 9, 10, 9, 8, 4, 0), PEAKS(3));
    assert_peaks(COLUMN(0, 5, 2, 10, 1, 8, 0), PEAKS(3, 5, 1));
    assert_peaks(COLUMN(0, 5, 3, 10, 6, 8, 0), PEAKS(3)); /* shoulders */
    assert_peaks(COLUMN(10, 0, 0, 0, 7), PEAKS(0, 4));    /* at the ends */
    assert_peaks(COLUMN(0, 3, 3, 3, 0), PEAKS(1));        /* a plateau */
    assert_peaks(COLUMN(0, -8, 0, 9, -5, 1), PEAKS(3, 1, 4));
    assert_peaks(COLUMN(0, 100, 0, 9, 0, 10, 0), PEAKS(1, 5)); /* low ones */
    assert_peaks(COLUMN(0, NAN, 4, NAN, 0), PEAKS(2));
    assert_peaks(COLUMN(1, INFINITY, 1), PEAKS(1));
    assert_peaks(COLUMN(7), PEAKS(0));
    assert_peaks(COLUMN(0, -0.0, 0), NULL, 0);
    assert_peaks(COLUMN(NAN, NAN), NULL, 0);
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
        check_peaks(a, rows, rank, naive_random(&seed) % 6);
    }
}

static void test_failing_allocation_of_peaks(void **state)
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
        cmocka_unit_test(test_every_row_is_in_one_column),
        cmocka_unit_test(test_few_rows_and_no_numbers),
        cmocka_unit_test(test_smoothness),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_names_that_ascend),
        cmocka_unit_test(test_ticks_of_names),
        cmocka_unit_test(test_many_lines_have_fewer_columns),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_by_definition),
        cmocka_unit_test(test_failing_allocation_of_peaks),
    };
    return cmocka_run_group_tests_name("mode_view", tests, NULL, NULL);
}
