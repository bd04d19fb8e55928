/* The entries that a tensor does not list and where a model is largest, of a slice, of the whole
 * tensor and of each index of a mode, against the model's values at all entries. */
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

#define MOST_CELLS 30000

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

static void compare_all(const struct unlisted_best *best, const struct best_entry *all,
                        uint64_t count, uint64_t wanted, double tolerance)
{
    assert_int_equal(best->count, count < wanted ? count : wanted);
    for (uint64_t i = 0; i < best->count; i++) {
        assert_memory_equal(&best->entry[i].cell, &all[i].cell, sizeof all[i].cell);
        assert_true(fabs(best->entry[i].value - all[i].value) <= tolerance * fabs(all[0].value));
    }
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
    compare_all(&best, all, count, wanted, tolerance);
    unlisted_best_free(&best);
    assert_null(best.entry);
    unlisted_slice_free(&s);
}

/* What unlisted_best_of_each hands over. */
struct handed {
    const struct ktensor *k;
    const struct coo *x;
    struct unlisted_slice slice; /* with the first index that was not handed over */
    int mode;
    uint64_t wanted;
    double tolerance;
};

/* The entries of the next indices, all of which are compared. */
static enum status take(void *context, struct unlisted_best *best, struct error *error)
{
    static struct best_entry all[MOST_CELLS];
    struct handed *h = context;
    (void)error;
    for (uint64_t i = 0; i < best->count;) {
        struct unlisted_best one = {0, best->entry + i};
        const uint32_t index = one.entry->cell.index[h->mode];
        for (; h->slice.index[h->mode] < index; h->slice.index[h->mode]++)
            assert_int_equal(all_entries(all, h->k, h->x, &h->slice), 0);
        for (; i < best->count && best->entry[i].cell.index[h->mode] == index; i++)
            one.count++;
        compare_all(&one, all, all_entries(all, h->k, h->x, &h->slice), h->wanted, h->tolerance);
        h->slice.index[h->mode]++;
    }
    return STATUS_OK;
}

static void check_each(const struct ktensor *k, const struct coo *x, int mode, unsigned given,
                       uint64_t wanted, double tolerance)
{
    struct unlisted_slice s = {.shape = k->shape};
    struct error error = {0};
    for (int n = 0; n < k->shape.order; n++) {
        s.given[n] = given >> n & 1;
        s.index[n] = s.given[n] ? x->index[n][0] : 0;
    }
    struct handed h = {k, x, s, mode, wanted, tolerance};
    h.slice.given[mode] = true;
    assert_int_equal(unlisted_slice_note(&s, x, &error), STATUS_OK);
    assert_int_equal(unlisted_best_of_each(k, &s, mode, wanted, take, &h, NULL, &error), STATUS_OK);
    static struct best_entry all[MOST_CELLS];
    for (; h.slice.index[mode] < k->shape.dims[mode]; h.slice.index[mode]++)
        assert_int_equal(all_entries(all, k, x, &h.slice), 0);
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

/* Leaves few entries, and rows of zeros. */
static void sparsen(struct ktensor *k)
{
    uint64_t seed = 1;
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t e = 0; e < k->shape.dims[n] * k->rank; e++)
            if (naive_random(&seed) % 3 > 0)
                k->factor[n][e] = 0;
}

static void check_model(const struct shape *shape, uint64_t rank, uint64_t nnz)
{
    static const uint64_t wanted[] = {1, 7, 200, 100000};
    struct error error = {0};
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, shape, nnz, rank, 0);
    assert_int_equal(ktensor_create(&k, shape, rank, &error), STATUS_OK);
    const unsigned modes = (1u << shape->order) - 1;
    for (unsigned given = 0; given < modes; given++)
        for (unsigned kind = 0; kind < 4; kind++) {
            if (kind < 2)
                whole_numbers(&k, (int)kind - 1);
            else
                ktensor_randomise(&k, kind == 2 ? KTENSOR_NORMAL : KTENSOR_RANDOM, given);
            if (kind == 3)
                sparsen(&k);
            const double tolerance = kind < 2 ? 0 : 1e-13;
            const int mode = (int)given % shape->order;
            for (unsigned i = given + kind; i < given + kind + 3; i += 2) {
                check(&k, &x, given, wanted[i % 4], tolerance);
                if (!(given >> mode & 1) && (given | 1u << mode) != modes)
                    check_each(&k, &x, mode, given, wanted[i % 4], tolerance);
            }
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

static enum status count_handed(void *count, struct unlisted_best *best, struct error *error)
{
    (void)error;
    *(uint64_t *)count += best->count;
    return STATUS_OK;
}

/* 4e8 entries. */
static void test_long_modes(void **state)
{
    (void)state;
    static const uint64_t dims[] = {2, 8000, 25000};
    const struct shape *shape = SHAPE(3, dims);
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
    for (int whole = 0; whole < 2; whole++) {
        /* no more than a hundredth of the entries has to be computed */
        struct unlisted_slice s = {
            .shape = *shape, .given = {!whole}, .index = {!whole}, .most = 4000000};
        struct unlisted_best best;
        find(&best, &k, &x, &s, 1);
        assert_int_equal(best.count, 1);
        assert_int_equal(best.entry[0].cell.index[0], 1);
        assert_int_equal(best.entry[0].cell.index[1], 1234);
        assert_int_equal(best.entry[0].cell.index[2], 4321);
        unlisted_best_free(&best);
        unlisted_slice_free(&s);
    }
    ktensor_free(&k);
    coo_free(&x);
}

/* 10^13 entries of counts, most of which are far smaller than the largest ones. */
static void test_more_than_can_be_visited(void **state)
{
    (void)state;
    static const uint64_t dims[] = {100000, 100000, 1000};
    struct unlisted_slice s = {.shape = *SHAPE(3, dims), .most = 10000000};
    struct unlisted_best best;
    struct error error = {0};
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, &s.shape, 1000, 1, 0);
    assert_int_equal(ktensor_create(&k, &s.shape, 3, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, 1);
    for (int n = 0; n < 3; n++)
        for (uint64_t e = 0; e < dims[n] * 3; e++)
            k.factor[n][e] = pow(k.factor[n][e], 8);
    uint32_t most[3] = {0}; /* of component 1, which is the only large one */
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < dims[n]; i++)
            if (k.factor[n][i * 3] > k.factor[n][most[n] * 3])
                most[n] = (uint32_t)i;
    k.lambda[0] = 1e9;
    for (int n = 0; n < 3; n++) /* lists the largest one */
        x.index[n][7] = most[n];
    find(&best, &k, &x, &s, 3);
    assert_int_equal(best.count, 3);
    for (int i = 0; i < 3; i++) {
        int same = 0; /* it is beside the largest one */
        for (int n = 0; n < 3; n++)
            same += best.entry[i].cell.index[n] == most[n];
        assert_int_equal(same, 2);
    }
    unlisted_best_free(&best);
    unlisted_slice_free(&s);
    ktensor_free(&k);
    coo_free(&x);
}

/* All entries are equal, so that each is computed. */
static void test_limit(void **state)
{
    (void)state;
    const struct shape *shape = SHAPE(3, ((const uint64_t[]){30, 7, 1000}));
    struct error error = {0};
    struct ktensor k;
    assert_int_equal(ktensor_create(&k, shape, 2, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        for (uint64_t e = 0; e < shape->dims[n] * 2; e++)
            k.factor[n][e] = 1;
    for (int more = 0; more < 2; more++)
        for (int each = 0; each < 2; each++) {
            struct unlisted_slice s = {.shape = *shape, .most = 210000 - 1 + (uint64_t)more};
            struct unlisted_best best = {0};
            uint64_t handed = 0;
            error = (struct error){0};
            if (each)
                unlisted_best_of_each(&k, &s, 1, 2, count_handed, &handed, NULL, &error);
            else
                unlisted_best_find(&best, &k, &s, 2, NULL, &error);
            assert_int_equal(error.status, more ? STATUS_OK : STATUS_INPUT);
            assert_int_equal(best.count, more && !each ? 2 : 0);
            assert_int_equal(handed, more && each ? 14 : 0);
            unlisted_best_free(&best);
            unlisted_slice_free(&s);
        }
    ktensor_free(&k);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const struct shape *shape = SHAPE(3, ((const uint64_t[]){4, 30, 20}));
    struct unlisted_slice s = {.shape = *shape, .given = {true}};
    struct error error = {0};
    struct ktensor k;
    struct coo x;
    naive_random_coo(&x, shape, 500, 1, 0);
    assert_int_equal(ktensor_create(&k, shape, 3, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 1);
    for (int each = 0; each < 2; each++) {
        int failures = 0;
        for (enum status status = STATUS_MEMORY; status == STATUS_MEMORY; failures++) {
            struct unlisted_best best = {0};
            uint64_t handed = 0;
            error = (struct error){0};
            memory_hook_set(failures);
            status = unlisted_slice_note(&s, &x, &error);
            if (status == STATUS_OK && each)
                status = unlisted_best_of_each(&k, &s, 1, 2, count_handed, &handed, NULL, &error);
            else if (status == STATUS_OK)
                status = unlisted_best_find(&best, &k, &s, 5, NULL, &error);
            memory_hook_set(-1);
            assert_int_equal(best.count, status == STATUS_OK && !each ? 5 : 0);
            assert_int_equal(handed, status == STATUS_OK && each ? 60 : 0);
            unlisted_best_free(&best);
            unlisted_slice_free(&s);
        }
        assert_true(failures > 8);
    }
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_than_can_be_visited), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_all_entries), cmocka_unit_test(test_long_modes),
        cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
