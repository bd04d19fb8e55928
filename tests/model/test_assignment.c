/* The assignment problem, against trying all assignments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/ktensor_match.h"
#include "support/naive.h"

#define MOST 7

/* The largest sum of the rows from `row` on, with the columns that are not in the set `taken`. */
static double best_sum(const double *score, uint64_t rows, uint64_t columns, uint64_t row,
                       unsigned taken)
{
    double best = row < rows ? -INFINITY : 0;
    for (uint64_t c = 0; c < columns && row < rows; c++)
        if (!(taken >> c & 1))
            best = fmax(best, score[row * columns + c] +
                                  best_sum(score, rows, columns, row + 1, taken | 1u << c));
    return best;
}

/* The sum of the assignment that is found; checks that the columns are distinct. */
static double solved_sum(const double *score, uint64_t rows, uint64_t columns)
{
    uint64_t column[MOST];
    unsigned taken = 0;
    double sum = 0;
    struct error error = {0};
    assert_int_equal(assignment_solve(score, rows, columns, column, &error), STATUS_OK);
    for (uint64_t r = 0; r < rows; r++) {
        assert_true(column[r] < columns && !(taken >> column[r] & 1));
        taken |= 1u << column[r];
        sum += score[r * columns + column[r]];
    }
    return sum;
}

static void test_against_all(void **state)
{
    (void)state;
    double score[MOST * MOST];
    uint64_t seed = 7;
    for (uint64_t rows = 1; rows <= MOST; rows++)
        for (uint64_t columns = rows; columns <= MOST; columns++)
            for (int kind = 0; kind < 12; kind++) {
                for (uint64_t i = 0; i < rows * columns; i++) {
                    uint64_t draw = naive_random(&seed);
                    score[i] = kind % 4 == 0   ? (double)(draw % 3) /* many equal ones */
                               : kind % 4 == 1 ? (double)(draw % 1000) / 1000
                               : kind % 4 == 2 ? -(double)(draw % 50)
                                               : ldexp((double)(draw % 7), (int)(draw % 60) - 30);
                }
                double sum = solved_sum(score, rows, columns),
                       best = best_sum(score, rows, columns, 0, 0);
                assert_true(fabs(sum - best) <= 1e-12 * fabs(best));
            }
}

/* The best pair is not in the best assignment. */
static void test_greedy_is_not_best(void **state)
{
    (void)state;
    const double score[] = {0.9, 0.8, 0.8, 0.1};
    uint64_t column[2];
    struct error error = {0};
    assert_int_equal(assignment_solve(score, 2, 2, column, &error), STATUS_OK);
    assert_int_equal(column[0], 1);
    assert_int_equal(column[1], 0);
}

/* A hidden permutation of many rows, the scores of which are larger than all others. */
static void test_many(void **state)
{
    (void)state;
    enum { ROWS = 300, COLUMNS = 320 };
    static double score[ROWS * COLUMNS];
    uint64_t seed = 3, column[ROWS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        score[i] = (double)(naive_random(&seed) % 1000) / 1001;
    for (uint64_t r = 0; r < ROWS; r++)
        score[r * COLUMNS + (r * 7 + 5) % COLUMNS] = 1;
    struct error error = {0};
    assert_int_equal(assignment_solve(score, ROWS, COLUMNS, column, &error), STATUS_OK);
    for (uint64_t r = 0; r < ROWS; r++)
        assert_int_equal(column[r], (r * 7 + 5) % COLUMNS);
}

/* The k-th allocation fails, for every k: an error and no leak. */
static void test_allocation_fails(void **state)
{
    (void)state;
    const double score[] = {1, 2, 3, 4};
    uint64_t column[2];
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        memory_hook_set(k);
        enum status status = assignment_solve(score, 2, 2, column, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_all),
        cmocka_unit_test(test_greedy_is_not_best),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
