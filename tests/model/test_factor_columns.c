/* What the columns of a matrix tell does not depend on the order in which its rows lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/factor_columns.h"
#include "support/naive.h"

#define FIRST 5 /* the number of the first row */

static void *array(uint64_t count, size_t size)
{
    struct error error = {0};
    void *of = memory_array(count, size, &error);
    assert_non_null(of);
    return of;
}

/* Few different entries, so that many rows have the largest magnitude; column 0 is zero. */
static double *make_matrix(uint64_t rows, uint64_t rank)
{
    double *a = array(rows * rank, sizeof *a);
    uint64_t seed = rows + rank;
    for (uint64_t i = 0; i < rows * rank; i++)
        a[i] = i % rank == 0 ? 0 : (double)(naive_random(&seed) % 7) - 3;
    return a;
}

/* The first row of the largest magnitude, by definition. */
static uint64_t first_row(const double *a, uint64_t rows, uint64_t rank, uint64_t r)
{
    uint64_t first = 0;
    for (uint64_t i = 1; i < rows; i++)
        if (fabs(a[i * rank + r]) > fabs(a[first * rank + r]))
            first = i;
    return first;
}

static void check(uint64_t rows, uint64_t rank)
{
    struct error error = {0};
    double *a = make_matrix(rows, rank), *mixed = array(rows * rank, sizeof *mixed);
    uint64_t *row = array(rows, sizeof *row), seed = rows;
    struct column *in_order = array(rank, sizeof *in_order), *out = array(rank, sizeof *out);
    for (uint64_t i = 0; i < rows; i++)
        row[i] = FIRST + i;
    for (uint64_t i = rows; i > 1; i--) {
        uint64_t j = naive_random(&seed) % i, swapped = row[i - 1];
        row[i - 1] = row[j];
        row[j] = swapped;
    }
    for (uint64_t i = 0; i < rows; i++)
        memcpy(mixed + i * rank, a + (row[i] - FIRST) * rank, rank * sizeof *a);
    const struct factor_rows ordered = {.a = a, .rows = rows, .rank = rank, .first = FIRST};
    const struct factor_rows unordered = {.a = mixed, .rows = rows, .rank = rank, .row = row};
    assert_int_equal(factor_columns_measure(&ordered, in_order, &error), STATUS_OK);
    assert_int_equal(factor_columns_measure(&unordered, out, &error), STATUS_OK);
    for (uint64_t r = 0; r < rank; r++) {
        uint64_t first = first_row(a, rows, rank, r);
        double norm = column_norm(&in_order[r]);
        assert_true(out[r].first == FIRST + first);
        assert_true(out[r].largest == a[first * rank + r]);
        assert_true(in_order[r].largest == a[first * rank + r]);
        assert_true(in_order[r].first <= FIRST + first);
        assert_true(fabs(column_norm(&out[r]) - norm) <= 1e-13 * norm);
    }
    memory_free(a);
    memory_free(mixed);
    memory_free(row);
    memory_free(in_order);
    memory_free(out);
}

static void test_order_of_rows(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 2, 300, 20000};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (uint64_t rank = 1; rank < 80; rank += 13)
            check(lengths[l], rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_of_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
