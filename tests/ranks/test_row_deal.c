/* Rows dealt to ranks: each has one place, ranks have as many rows and about as many nonzeros as
 * each other, and rows that are too much for one rank are common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/row_deal.h"
#include "support/naive.h"

#define MOST 8 /* ranks */

static uint64_t sum(const uint64_t *x, uint64_t count)
{
    uint64_t all = 0;
    for (uint64_t i = 0; i < count; i++)
        all += x[i];
    return all;
}

static uint64_t largest(const uint64_t *x, uint64_t count)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* The row at each place; no place has two. Rows are in the order of the tensor. */
static void check_places(const struct row_deal *d, const uint64_t *count, uint64_t rows, int ranks,
                         uint64_t limit)
{
    const uint64_t none = UINT64_MAX;
    uint64_t *at = malloc((uint64_t)ranks * d->stripe * sizeof *at), common = 0;
    for (uint64_t i = 0; i < (uint64_t)ranks * d->stripe; i++)
        at[i] = none;
    for (uint64_t i = 0; i < rows; i++) {
        assert_true(d->place[i] < (uint64_t)ranks * d->stripe && at[d->place[i]] == none);
        at[d->place[i]] = i;
    }
    for (int k = 0; k < ranks; k++) {
        const uint64_t *stripe = at + (uint64_t)k * d->stripe,
                       shared = row_deal_common(d->common, k, ranks);
        uint64_t own = 0;
        for (uint64_t i = 0; i < d->stripe; i++) {
            assert_true((stripe[i] != none) == (i < d->rows[k]));
            if (stripe[i] == none)
                continue;
            assert_true((count[stripe[i]] > limit) == (i < shared));
            assert_true(i == 0 || i == shared || stripe[i] > stripe[i - 1]);
            own += i < shared ? 0 : count[stripe[i]];
        }
        assert_int_equal(own, d->own[k]);
        common += shared;
    }
    assert_int_equal(common, d->common);
    free(at);
}

/* Ranks differ by a row of each kind, and by about the largest row that is not common; counts of a
 * class differ by a 32nd. */
static void check_balance(const struct row_deal *d, const uint64_t *count, uint64_t rows, int ranks)
{
    const uint64_t limit = sum(count, rows) / (uint64_t)(ranks * ROW_DEAL_SHARES);
    const double mean = (double)sum(d->own, (uint64_t)ranks) / ranks;
    for (int k = 0; k < ranks; k++) {
        assert_true(d->rows[k] + 3 > largest(d->rows, (uint64_t)ranks));
        assert_true((double)d->own[k] < mean * 33 / 32 + (double)limit + 1);
        assert_true((double)d->own[k] > mean * 31 / 32 - (double)limit - 1);
    }
}

static void check(const uint64_t *count, uint64_t rows)
{
    for (int ranks = 1; ranks <= MOST; ranks++) {
        struct row_deal d;
        struct error error = {0};
        assert_int_equal(row_deal_make(&d, count, rows, ranks, false, &error), STATUS_OK);
        assert_true(d.common < (uint64_t)(ranks * ROW_DEAL_SHARES));
        check_places(&d, count, rows, ranks,
                     sum(count, rows) / (uint64_t)(ranks * ROW_DEAL_SHARES));
        check_balance(&d, count, rows, ranks);
        row_deal_free(&d);
        assert_int_equal(row_deal_make(&d, count, rows, ranks, true, &error), STATUS_OK);
        check_places(&d, count, rows, ranks, 0);
        assert_int_equal(sum(d.own, (uint64_t)ranks), 0);
        row_deal_free(&d);
    }
}

static void test_few_rows(void **state)
{
    (void)state;
    check((uint64_t[]){0}, 1);
    check((uint64_t[]){5}, 1);
    check((uint64_t[]){0, 0, 0}, 3);
    check((uint64_t[]){1, UINT64_C(1) << 40, 0, 1}, 4);
    check((uint64_t[]){7, 7, 7, 7, 7, 7, 7, 7, 7}, 9);
    check((uint64_t[]){1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, 11);
}

/* Of all sizes, as real tensors have them: many short rows, few long ones. */
static void test_many_rows(void **state)
{
    (void)state;
    uint64_t seed = 1, count[5000];
    for (int power = 0; power < 40; power += 3) {
        for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
            const uint64_t random = naive_random(&seed);
            count[i] = random >> (64 - random % (uint64_t)(power + 1)) % 64;
            count[i] = random % 7 == 0 ? 0 : count[i] & ((UINT64_C(1) << 40) - 1);
        }
        check(count, sizeof count / sizeof *count);
    }
}

/* So many that threads share them: what each thread deals begins where those before it end. */
static void test_rows_of_threads(void **state)
{
    (void)state;
    const size_t rows = 300007;
    uint64_t seed = 3, *count = malloc(rows * sizeof *count);
    for (size_t i = 0; i < rows; i++) {
        const uint64_t random = naive_random(&seed);
        count[i] = random % 1000 == 0 ? random >> 42 : random >> 58;
    }
    check(count, rows);
    free(count);
}

/* Neighbours stay together. */
static void test_equal_rows(void **state)
{
    (void)state;
    const uint32_t rows = 200000;
    uint64_t *count = malloc(rows * sizeof *count);
    struct row_deal d;
    struct error error = {0};
    for (size_t i = 0; i < rows; i++)
        count[i] = 3;
    assert_int_equal(row_deal_make(&d, count, rows, 4, false, &error), STATUS_OK);
    for (uint32_t i = 0; i < rows; i++)
        assert_int_equal(d.place[i], i);
    row_deal_free(&d);
    free(count);
}

/* One mode far longer than the others, as of 23.8 million hosts that 22 thousand others call; modes
 * of about the same length; a grid that cuts two modes; systems that are too many to be summed at
 * once. */
static void test_kept(void **state)
{
    (void)state;
    const struct process_grid calls = {
        .shape = {3, {22476, 22476, 23776223}}, .ranks = 2, .parts = {1, 1, 2}};
    const struct process_grid words = {
        .shape = {3, {12092, 9184, 28818}}, .ranks = 2, .parts = {1, 1, 2}};
    const struct process_grid two = {
        .shape = {3, {22476, 22476, 23776223}}, .ranks = 4, .parts = {2, 1, 2}};
    const struct process_grid pairs = {
        .shape = {2, {100000, 100000000}}, .ranks = 4, .parts = {1, 4}};
    const struct process_grid alone = {.shape = {2, {1, 100}}, .ranks = 1, .parts = {1, 1}};
    assert_int_equal(row_deal_kept(&calls, 32 * sizeof(double)), 2);
    assert_int_equal(row_deal_kept(&words, 32 * sizeof(double)), -1);
    assert_int_equal(row_deal_kept(&two, 32 * sizeof(double)), -1);
    assert_int_equal(row_deal_kept(&pairs, 32 * sizeof(double)), -1);
    assert_int_equal(row_deal_kept(&pairs, 8 * sizeof(double)), 1);
    assert_int_equal(row_deal_kept(&alone, 8 * sizeof(double)), -1);
    assert_true(row_deal_kept_bytes(&calls.shape, 2, 32 * sizeof(double)) == 2 * 22476.0 * 560 * 8);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const uint64_t count[] = {3, 0, 9};
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct row_deal d;
        struct error error = {0};
        memory_hook_set(k);
        const enum status status = row_deal_make(&d, count, 3, 2, false, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_true(!fired || !d.place);
        row_deal_free(&d);
        failures += (int)fired;
    }
    assert_true(failures > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_rows_of_threads),
        cmocka_unit_test(test_equal_rows),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
