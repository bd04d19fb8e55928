/* Trees of rows: they have each row once, as scaled, and between the entries of their ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/row_tree.h"
#include "support/naive.h"

#define MOST_ROWS 5000
#define MOST_RANK 17

/* Entry r of row k of the tree. */
static double entry(const struct row_tree *t, bool packed, uint64_t k, uint64_t r)
{
    return packed ? t->row[(k - k % ROW_GROUP) * t->rank + r * ROW_GROUP + k % ROW_GROUP]
                  : t->row[k * t->stride + r];
}

static void check_range(const struct row_tree *t, const struct row_tree_form *form, uint64_t number)
{
    const struct row_range *range = &t->range[number];
    const double *low = t->box + number * 2 * t->stride, *high = low + t->stride;
    const uint64_t rows = range->end - range->begin;
    double longest = 0;
    assert_true(rows > 0 && range->begin % ROW_GROUP == 0);
    for (uint64_t k = range->begin; k < range->end; k++) {
        double squares = 0;
        for (uint64_t r = 0; r < t->rank; r++) {
            const double x = entry(t, form->packed, k, r);
            assert_true(low[r] <= x && x <= high[r]);
            squares += x * x;
        }
        longest = fmax(longest, sqrt(squares));
    }
    assert_true(fabs(range->norm - longest) <= 1e-14 * longest);
    for (uint64_t r = t->rank; r < t->stride; r++)
        assert_true(low[r] == 0 && high[r] == 0);
    if (range->child == 0) {
        assert_true(rows <= ROW_GROUP || rows <= form->leaf);
        return;
    }
    const struct row_range *child = &t->range[range->child];
    assert_true(child[0].begin == range->begin && child[0].end == child[1].begin &&
                child[1].end == range->end);
    check_range(t, form, range->child);
    check_range(t, form, range->child + 1);
}

static void check(const double *a, uint64_t rows, uint64_t rank, const struct row_tree_form *form)
{
    static bool seen[MOST_ROWS];
    struct error error = {0};
    struct row_tree t;
    memset(seen, 0, sizeof seen);
    assert_int_equal(row_tree_create(&t, a, rows, rank, form, &error), STATUS_OK);
    assert_true(t.ranges <= ROW_RANGES(rows));
    for (uint64_t k = 0; k < rows; k++) {
        const uint64_t i = t.index[k];
        double squares = 0;
        assert_true(i < rows && !seen[i]);
        seen[i] = true;
        for (uint64_t r = 0; r < rank; r++)
            squares += pow(a[i * rank + r] * form->scale[r], 2);
        const double length = form->unit && squares > 0 ? sqrt(squares) : 1;
        if (form->unit)
            assert_true(fabs(t.length[i] - length) <= 1e-14 * length);
        for (uint64_t r = 0; r < rank; r++)
            assert_true(fabs(entry(&t, form->packed, k, r) -
                             a[i * rank + r] * form->scale[r] / length) <= 1e-14);
    }
    assert_int_equal(t.range[0].end, rows);
    check_range(&t, form, 0);
    row_tree_free(&t);
    assert_null(t.row);
}

static void test_trees(void **state)
{
    (void)state;
    static const uint64_t rows[] = {1, 15, 16, 17, 300, MOST_ROWS}, ranks[] = {1, 8, MOST_RANK};
    static double a[MOST_ROWS * MOST_RANK];
    double scale[MOST_RANK], weight[MOST_RANK];
    uint64_t seed = 1;
    for (int r = 0; r < MOST_RANK; r++) {
        scale[r] = r % 2 ? -.5 : .25;
        weight[r] = r;
    }
    for (int kind = 0; kind < 3; kind++) {
        for (uint64_t e = 0; e < MOST_ROWS * MOST_RANK; e++) {
            const double x = (double)(naive_random(&seed) % 1000) / 1000;
            /* spread evenly; a few values, many of them equal; of all magnitudes */
            a[e] = kind == 0 ? x - .5 : kind == 1 ? floor(2 * x) : pow(x, 200);
        }
        memset(a, 0, MOST_RANK * sizeof *a);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 3; j++)
                for (int unit = 0; unit < 2; unit++)
                    check(a, rows[i], ranks[j],
                          &(struct row_tree_form){.scale = scale,
                                                  .weight = weight,
                                                  .leaf = i % 2 ? 100 : 0,
                                                  .unit = unit,
                                                  .packed = !unit});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
