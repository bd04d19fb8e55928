/* The entries of a slice that a tensor does not list and where a model is largest, against the
 * model's values at all entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/unlisted_best.h"
#include "support/naive.h"
#include "support/naive_rows.h"

#define MOST_CELLS 20000

static int compare(const void *left, const void *right)
{
    const struct best_entry *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    int n = 0;
    while (n < MAX_ORDER - 1 && a->cell.index[n] == b->cell.index[n])
        n++;
    return a->cell.index[n] < b->cell.index[n] ? -1 : 1;
}

static bool lists(const struct coo *x, const uint32_t *at)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        int n = 0;
        while (n < x->shape.order && x->index[n][i] == at[n])
            n++;
        if (n == x->shape.order)
            return true;
    }
    return false;
}

/* Steps to the next cell of the slice; false after the last. */
static bool next_cell(const struct unlisted_slice *s, struct cell *cell)
{
    for (int n = 0; n < s->shape.order; n++) {
        if (s->given[n])
            continue;
        if (++cell->index[n] < s->shape.dims[n])
            return true;
        cell->index[n] = 0;
    }
    return false;
}

/* Fills all (MOST_CELLS) with the entries that are no 0 and not listed, in order. */
static uint64_t all_entries(struct best_entry *all, const struct ktensor *k, const struct coo *x,
                            const struct unlisted_slice *s)
{
    struct cell cell = {{0}};
    uint64_t count = 0;
    memcpy(cell.index, s->index, sizeof cell.index);
    do {
        const double value = (double)naive_model_value(k, cell.index);
        if (value == 0 || lists(x, cell.index))
            continue;
        assert_true(count < MOST_CELLS);
        all[count++] = (struct best_entry){cell, value};
    } while (next_cell(s, &cell));
    qsort(all, count, sizeof *all, compare);
    return count;
}

static void find(struct unlisted_best *best, const struct ktensor *k, const struct coo *x,
                 struct unlisted_slice *s, uint64_t wanted)
{
    struct error error = {0};
    assert_int_equal(unlisted_slice_note(s, x, &error), STATUS_OK);
    assert_int_equal(unlisted_best_find(best, k, s, wanted, NULL, &error), STATUS_OK);
}

static void check(const struct ktensor *k, const struct coo *x, unsigned given, uint64_t wanted,
                  double tolerance)
{
    static struct best_entry all[MOST_CELLS];
    struct unlisted_slice s = {.shape = k->shape};
    struct unlisted_best best;
    for (int n = 0; n < k->shape.order; n++) {
        s.given[n] = given >> n & 1;
        s.index[n] = s.given[n] ? x->index[n][0] : 0;
    }
    const uint64_t count = all_entries(all, k, x, &s);
    find(&best, k, x, &s, wanted);
    assert_true(s.count > 0);
    assert_int_equal(best.count, count < wanted ? count : wanted);
    for (uint64_t i = 0; i < best.count; i++) {
        assert_memory_equal(&best.entry[i].cell, &all[i].cell, sizeof all[i].cell);
        assert_true(fabs(best.entry[i].value - all[i].value) <= tolerance * fabs(all[0].value));
    }
    unlisted_best_free(&best);
    assert_null(best.entry);
    unlisted_slice_free(&s);
}

/* Whole numbers, whose values are exact, many of them equal or 0. */
static void whole_numbers(struct ktensor *k, int least)
{
    uint64_t seed = k->rank;
    for (uint64_t r = 0; r < k->rank; r++)
        k->lambda[r] = (double)(1 + r % 3);
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t e = 0; e < k->shape.dims[n] * k->rank; e++)
            k->factor[n][e] = least + (double)(naive_random(&seed) % 4);
}

static void check_model(const struct shape *shape, uint64_t rank, uint64_t nnz)
{
    static const uint64_t wanted[] = {1, 7, 200, 100000};
    struct error error = {0};
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, shape, nnz, rank, 0);
    assert_int_equal(ktensor_create(&k, shape, rank, &error), STATUS_OK);
    for (unsigned given = 1; given + 1 < 1u << shape->order; given++)
        for (int i = 0; i < 4; i++) {
            whole_numbers(&k, -1);
            check(&k, &x, given, wanted[i], 0);
            whole_numbers(&k, 0);
            check(&k, &x, given, wanted[i], 0);
            ktensor_randomise(&k, KTENSOR_NORMAL, given);
            check(&k, &x, given, wanted[i], 1e-13);
        }
    ktensor_free(&k);
    coo_free(&x);
}

static void test_all_entries(void **state)
{
    (void)state;
    const int threads = omp_get_max_threads();
    for (int t = 1; t <= 5; t += 2) {
        omp_set_num_threads(t);
        check_model(SHAPE(2, ((const uint64_t[]){30, 300})), 5, 900);
        check_model(SHAPE(3, ((const uint64_t[]){9, 130, 20})), 3, 900);
        check_model(SHAPE(4, ((const uint64_t[]){7, 12, 1, 70})), 1, 500);
        check_model(SHAPE(5, ((const uint64_t[]){3, 4, 9, 5, 6})), 9, 500);
    }
    omp_set_num_threads(threads);
}

/* 2e8 entries. */
static void test_long_modes(void **state)
{
    (void)state;
    static const uint64_t dims[] = {2, 8000, 25000};
    const struct shape *shape = SHAPE(3, dims);
    struct unlisted_slice s = {.shape = *shape, .given = {true}, .index = {1}};
    struct unlisted_best best;
    struct error error = {0};
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, shape, 10, 1, 0);
    assert_int_equal(ktensor_create(&k, shape, 6, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 1);
    for (uint64_t e = 0; e < 6; e++) { /* row 1234 of mode 2 and row 4321 of mode 3 stand out */
        k.factor[1][1234 * 6 + e] = k.factor[0][6 + e] * 20;
        k.factor[2][4321 * 6 + e] = 20;
    }
    find(&best, &k, &x, &s, 1);
    assert_int_equal(best.count, 1);
    assert_int_equal(best.entry[0].cell.index[1], 1234);
    assert_int_equal(best.entry[0].cell.index[2], 4321);
    unlisted_best_free(&best);
    unlisted_slice_free(&s);
    ktensor_free(&k);
    coo_free(&x);
}

/* No more than 10^10 entries are looked at. */
static void test_too_many(void **state)
{
    (void)state;
    static const struct {
        uint64_t dims[3];
        bool given;
        enum status expected;
    } cases[] = {{{9, 100000, 100000}, true, STATUS_OK},
                 {{9, 100000, 100001}, true, STATUS_INPUT},
                 {{2, 100000, 100000}, false, STATUS_INPUT},
                 {{MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}, false, STATUS_INPUT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct unlisted_slice s = {.shape = *SHAPE(3, cases[i].dims),
                                         .given = {cases[i].given}};
        struct error error = {0};
        assert_int_equal(unlisted_slice_check(&s, &error), cases[i].expected);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const struct shape *shape = SHAPE(3, ((const uint64_t[]){4, 30, 20}));
    struct unlisted_slice s = {.shape = *shape, .given = {true}};
    struct error error = {0};
    struct ktensor k;
    struct coo x;
    int failures = 0;
    naive_random_coo(&x, shape, 500, 1, 0);
    assert_int_equal(ktensor_create(&k, shape, 3, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 1);
    for (enum status status = STATUS_MEMORY; status == STATUS_MEMORY; failures++) {
        struct unlisted_best best = {0};
        error = (struct error){0};
        memory_hook_set(failures);
        status = unlisted_slice_note(&s, &x, &error);
        if (status == STATUS_OK)
            status = unlisted_best_find(&best, &k, &s, 5, NULL, &error);
        memory_hook_set(-1);
        assert_int_equal(best.count, status == STATUS_OK ? 5 : 0);
        unlisted_best_free(&best);
        unlisted_slice_free(&s);
    }
    assert_true(failures > 8);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_entries), cmocka_unit_test(test_long_modes),
        cmocka_unit_test(test_too_many), cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
