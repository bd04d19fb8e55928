/* The strongest entries, against sorting all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/top_entries.h"
#include "support/naive.h"

/* Strongest first, NaN last, of equals the smaller index first. */
static int compare(const void *left, const void *right)
{
    const struct top_entry *a = left, *b = right;
    int nan = isnan(a->value) - isnan(b->value);
    if (nan != 0)
        return nan;
    if (fabs(a->value) != fabs(b->value) && !isnan(a->value))
        return fabs(a->value) > fabs(b->value) ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void check(const double *a, uint64_t rows, uint64_t rank, uint64_t count)
{
    struct top_entry *all = malloc((rows + 1) * sizeof *all);
    struct top_entries top;
    struct error error = {0};
    assert_non_null(all);
    assert_int_equal(top_entries_find(&top, a, rows, rank, count, &error), STATUS_OK);
    assert_int_equal(top.count, count < rows ? count : rows);
    for (uint64_t r = 0; r < rank; r++) {
        for (uint64_t i = 0; i < rows; i++)
            all[i] = (struct top_entry){i, a[i * rank + r]};
        qsort(all, rows, sizeof *all, compare);
        for (uint64_t i = 0; i < top.count; i++) {
            const struct top_entry *entry = &top.entry[r * top.count + i];
            assert_int_equal(entry->index, all[i].index);
            assert_memory_equal(&entry->value, &all[i].value, sizeof(double));
        }
    }
    top_entries_free(&top);
    assert_null(top.entry);
    free(all);
}

/* Few distinct magnitudes, both signs, and some NaN and infinities. */
static void fill(double *a, uint64_t count, uint64_t *seed, int unusual)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t draw = naive_random(seed) % 64;
        a[i] = (double)(naive_random(seed) % 40) * (draw % 2 ? 1 : -1);
        if (unusual && draw < 20)
            a[i] = draw < 10 ? (double)NAN : draw < 14 ? (double)-INFINITY : -0.0;
    }
}

static void test_all_counts(void **state)
{
    (void)state;
    static const uint64_t rows[] = {1, 2, 7, 100, 1000}, ranks[] = {1, 3, 8, 17},
                          counts[] = {0, 1, 2, 10, 99, 5000};
    static double a[1000 * 17];
    uint64_t seed = 1;
    int threads = omp_get_max_threads();
    for (int t = 1; t <= 5; t += 2) {
        omp_set_num_threads(t);
        for (int i = 0; i < 5; i++)
            for (int r = 0; r < 4; r++)
                for (int c = 0; c < 6; c++) {
                    fill(a, rows[i] * ranks[r], &seed, c % 2);
                    check(a, rows[i], ranks[r], counts[c]);
                }
    }
    omp_set_num_threads(threads);
}

/* Columns that rise, fall, are constant, or have nothing but NaN. */
static void test_in_order(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    static double a[ROWS * 4];
    for (int i = 0; i < ROWS; i++) {
        a[4 * i] = i;
        a[4 * i + 1] = i - ROWS;
        a[4 * i + 2] = i % 2 ? 0.0 : -0.0;
        a[4 * i + 3] = (double)NAN;
    }
    check(a, ROWS, 4, 20);
    a[4 * ROWS - 1] = 0; /* the one number after all NaN */
    check(a, ROWS, 4, 20);
    check(a, ROWS, 4, ROWS);
}

/* The k-th allocation fails, for every k: an error and no leak. */
static void test_allocation_fails(void **state)
{
    (void)state;
    double a[100] = {1, 2, 3};
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct top_entries top;
        memory_hook_set(k);
        enum status status = top_entries_find(&top, a, 50, 2, 3, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_true((top.entry == NULL) == (fired != 0));
        top_entries_free(&top);
    }
}

/* What a component explains stands beside its weight, unless it cancels others. */
static void test_shares(void **state)
{
    (void)state;
    static const struct {
        double explained, lost;
        const char *expected;
    } cases[] = {{0.312, 0.12, ", explains 31.2 %, 12.0 % lost without it"},
                 {0.6174, NAN, ", explains 61.7 %"},
                 {NAN, 0.5, ", 50.0 % lost without it"},
                 {NAN, NAN, ""},
                 {1 + 1e-15, -1e-17, ", explains 100.0 %, 0.0 % lost without it"},
                 {-3e5, 0.1, ", cancels others"},
                 {0.4, 2e9, ", cancels others"},
                 {INFINITY, 0, ", cancels others"}};
    const struct shape shape = {.order = 2, .dims = {2, 2}};
    struct ktensor k;
    struct error error = {0};
    assert_int_equal(ktensor_create(&k, &shape, 1, &error), STATUS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[SHARES_TEXT];
        k.explained[0] = cases[i].explained;
        k.lost[0] = cases[i].lost;
        assert_string_equal(shares_text(&k, 0, text), cases[i].expected);
        struct json j;
        char got[1024];
        json_begin(&j, &error);
        json_put_object(&j, NULL);
        top_put_json(&j, &(struct top_view){.model = &k, .end_component = 1});
        json_end(&j);
        snprintf(got, sizeof got, "%.*s", (int)j.used, j.text);
        assert_true((strstr(got, "\"explained\": ") != NULL) == isfinite(cases[i].explained));
        assert_true((strstr(got, "\"lost\": ") != NULL) == isfinite(cases[i].lost));
        json_free(&j);
    }
    ktensor_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_counts),
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_allocation_fails),
        cmocka_unit_test(test_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
