#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>
#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/naive.h"
#include "tensor/coo.h"

/* One entry with its place in the file: sorting by coordinates, then by place, is the naive way to
 * bring duplicates together in file order. */
struct entry {
    uint32_t index[MAX_ORDER];
    uint64_t place;
    double value;
};

static int compare_coordinates(const struct entry *x, const struct entry *y)
{
    for (int n = 0; n < MAX_ORDER; n++)
        if (x->index[n] != y->index[n])
            return x->index[n] < y->index[n] ? -1 : 1;
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_coordinates(x, y);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static struct entry *entries_of(const struct coo *x)
{
    struct entry *e = calloc(x->nnz + 1, sizeof *e);
    assert_non_null(e);
    for (uint64_t i = 0; i < x->nnz; i++) {
        for (int n = 0; n < x->shape.order; n++)
            e[i].index[n] = x->index[n][i];
        e[i].place = i;
        e[i].value = x->value[i];
    }
    return e;
}

static struct entry *sorted_entries(const struct coo *x)
{
    struct entry *e = entries_of(x);
    qsort(e, x->nnz, sizeof *e, compare_entries);
    return e;
}

/* Cleans e[0..n) and returns how many are left, sorted. */
static uint64_t naive_clean(struct entry *e, uint64_t n, enum coo_zeros zeros,
                            struct coo_cleaning *report)
{
    const bool keeps = zeros == COO_KEEP_ZEROS;
    *report = (struct coo_cleaning){0};
    uint64_t nonzero = 0, merged = 0, kept = 0;
    for (uint64_t i = 0; i < n; i++)
        if (e[i].value != 0 || keeps)
            e[nonzero++] = e[i];
    qsort(e, nonzero, sizeof *e, compare_entries);
    for (uint64_t i = 0; i < nonzero; i++) {
        if (merged > 0 && compare_coordinates(&e[i], &e[merged - 1]) == 0)
            e[merged - 1].value += e[i].value;
        else
            e[merged++] = e[i];
    }
    for (uint64_t i = 0; i < merged; i++)
        if (e[i].value != 0 || keeps)
            e[kept++] = e[i];
    report->duplicates = nonzero - merged;
    report->zeros = n - nonzero + merged - kept;
    return kept;
}

static void copy_coo(struct coo *to, const struct coo *from)
{
    struct error error = {0};
    assert_int_equal(coo_create(to, &from->shape, from->nnz, &error), STATUS_OK);
    for (int n = 0; n < from->shape.order; n++)
        memcpy(to->index[n], from->index[n], from->nnz * sizeof *from->index[n]);
    memcpy(to->value, from->value, from->nnz * sizeof *from->value);
}

/* Entries of few distinct coordinates, values that cancel and round: thirds of -3 to 3 times powers
 * of ten. */
static void messy_coo(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, shape, nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        for (int n = 0; n < shape->order; n++) {
            uint64_t random = naive_random(&seed);
            x->index[n][i] =
                (uint32_t)(random % 8 == 0 ? shape->dims[n] - 1 : random / 8 % shape->dims[n]);
        }
        int third = (int)(naive_random(&seed) % 7) - 3;
        x->value[i] = third / 3.0 * pow(10, (double)(naive_random(&seed) % 4));
    }
}

static void check_clean_with(const struct coo *original, enum coo_zeros zeros)
{
    struct coo_cleaning expected, report;
    struct entry *e = entries_of(original);
    uint64_t left = naive_clean(e, original->nnz, zeros, &expected);
    int threads = omp_get_max_threads();
    for (int t = 1; t <= 3; t++) {
        struct error error = {0};
        struct coo x;
        copy_coo(&x, original);
        omp_set_num_threads(t);
        assert_int_equal(coo_clean(&x, NULL, zeros, &report, &error), STATUS_OK);
        assert_int_equal(report.zeros, expected.zeros);
        assert_int_equal(report.duplicates, expected.duplicates);
        assert_int_equal(x.nnz, left);
        struct entry *found = sorted_entries(&x);
        for (uint64_t i = 0; i < left; i++) {
            assert_int_equal(compare_coordinates(&found[i], &e[i]), 0);
            assert_memory_equal(&found[i].value, &e[i].value, sizeof e[i].value);
        }
        free(found);
        coo_free(&x);
    }
    omp_set_num_threads(threads);
    free(e);
}

static void check_clean(const struct coo *original)
{
    check_clean_with(original, COO_DROP_ZEROS);
    check_clean_with(original, COO_KEEP_ZEROS);
}

static void test_clean_against_naive(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        uint64_t nnz;
    } tensors[] = {
        {{1, {1}}, 5},
        {{1, {7}}, 100},
        {{2, {4, 5}}, 1000},
        {{3, {5, 6, 7}}, 1},
        {{3, {40, 3, 9}}, 0},
        {{3, {30, 20, 40}}, 20000},
        {{3, {MAX_LENGTH, 2, MAX_LENGTH}}, 2000},
        {{4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}}, 3000},
        {{5, {100000, 3, 1, 70000, 2}}, 3000},
        {{3, {4000, 5000, 6000}}, 140000},
        {{16, {2, 2, 1, 3, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2}}, 1000},
    };
    for (size_t s = 0; s < sizeof tensors / sizeof *tensors; s++) {
        struct coo x;
        messy_coo(&x, &tensors[s].shape, tensors[s].nnz, s + 1);
        check_clean(&x);
        for (uint64_t i = 0; i < x.nnz; i += 7)
            x.value[i] = COO_UNKNOWN;
        check_clean(&x);
        for (uint64_t i = 1; i < x.nnz; i += 2) /* every other entry repeats its predecessor */
            for (int n = 0; n < x.shape.order; n++)
                x.index[n][i] = x.index[n][i - 1];
        check_clean(&x);
        coo_free(&x);
    }
}

/* 1e16 + 1 - 1e16 is 0 in this order and 1 in the others. */
static void test_sums_in_file_order(void **state)
{
    (void)state;
    static const uint64_t dims[2] = {3, 3};
    static const double values[3][3] = {{1e16, 1, -1e16}, {1e16, -1e16, 1}, {1, 2, 4}};
    static const double sums[3] = {0, 1, 7};
    for (int v = 0; v < 3; v++) {
        struct error error = {0};
        struct coo x;
        struct coo_cleaning report;
        assert_int_equal(coo_create(&x, SHAPE(2, dims), 4, &error), STATUS_OK);
        for (uint64_t i = 0; i < 4; i++) {
            x.index[0][i] = i == 1 ? 0 : 2;
            x.index[1][i] = 1;
            x.value[i] = i == 1 ? 5 : values[v][i == 0 ? 0 : i - 1];
        }
        assert_int_equal(coo_clean(&x, NULL, COO_DROP_ZEROS, &report, &error), STATUS_OK);
        assert_int_equal(report.duplicates, 2);
        assert_int_equal(report.zeros, sums[v] == 0);
        assert_int_equal(x.nnz, 2 - report.zeros);
        assert_true(x.value[0] == 5 && x.index[0][0] == 0 && x.index[1][0] == 1);
        if (x.nnz == 2)
            assert_true(x.value[1] == sums[v] && x.index[0][1] == 2);
        coo_free(&x);
    }
}

/* Without duplicates the entries keep their order, sorted or not; only zeros go. */
static void test_order_is_kept(void **state)
{
    (void)state;
    static const uint64_t dims[3] = {500, 60, 70};
    static const uint64_t sizes[] = {3000, 200000}; /* sorted, or their keys compared */
    for (int c = 0; c < 4; c++) {
        int sorted = c % 2;
        struct error error = {0};
        struct coo x;
        naive_random_coo(&x, SHAPE(3, dims), sizes[c / 2], 7, 0);
        struct entry *e = sorted ? sorted_entries(&x) : entries_of(&x);
        uint64_t kept = 0;
        for (uint64_t i = 0; i < x.nnz; i++) {
            for (int n = 0; n < 3; n++)
                x.index[n][i] = e[i].index[n];
            x.value[i] = i % 5 == 1 ? (i % 2 ? 0.0 : -0.0) : e[i].value;
            if (i % 5 != 1)
                e[kept++] = e[i];
        }
        struct coo_cleaning report;
        uint64_t before = x.nnz;
        assert_int_equal(coo_clean(&x, NULL, COO_DROP_ZEROS, &report, &error), STATUS_OK);
        assert_int_equal(report.duplicates, 0);
        assert_int_equal(report.zeros, before - kept);
        assert_int_equal(x.nnz, kept);
        for (uint64_t i = 0; i < kept; i++) {
            for (int n = 0; n < 3; n++)
                assert_int_equal(x.index[n][i], e[i].index[n]);
            assert_true(x.value[i] == e[i].value);
        }
        free(e);
        coo_free(&x);
    }
}

/* An ascending tensor is recognised without any memory: every allocation would fail. */
static void test_ascending_needs_no_memory(void **state)
{
    (void)state;
    static const uint64_t dims[2] = {10, 10};
    struct error error = {0};
    struct coo x;
    struct coo_cleaning report;
    assert_int_equal(coo_create(&x, SHAPE(2, dims), 100, &error), STATUS_OK);
    for (uint32_t i = 0; i < 100; i++) {
        x.index[0][i] = i / 10;
        x.index[1][i] = i % 10;
        x.value[i] = 1;
    }
    memory_hook_set(0);
    enum status status = coo_clean(&x, NULL, COO_DROP_ZEROS, &report, &error);
    int fired = memory_hook_fired();
    memory_hook_set(-1);
    assert_int_equal(status, STATUS_OK);
    assert_false(fired);
    assert_int_equal(x.nnz, 100);
    coo_free(&x);
}

static void test_resize(void **state)
{
    (void)state;
    static const uint64_t dims[3] = {9, 9, 9};
    struct error error = {0};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 100, 8, 0);
    struct entry *e = entries_of(&x);
    uint64_t nnz = x.nnz;
    assert_int_equal(coo_resize(&x, 2 * nnz, &error), STATUS_OK);
    assert_int_equal(x.nnz, 2 * nnz);
    assert_int_equal(coo_resize(&x, nnz / 2, &error), STATUS_OK);
    assert_int_equal(x.nnz, nnz / 2);
    for (uint64_t i = 0; i < nnz / 2; i++) {
        assert_int_equal(x.index[2][i], e[i].index[2]);
        assert_true(x.value[i] == e[i].value);
    }
    free(e);
    coo_free(&x);
    assert_null(x.value);
    coo_free(&x);
}

/* Unknown entries and zeros are counted, and the norm is that of the others. */
static void test_unknown_entries(void **state)
{
    (void)state;
    struct coo x;
    uint64_t unknown = 0, zeros = 0;
    naive_random_coo(&x, &(struct shape){2, {1000, 1000}}, 20000, 10, 0);
    for (uint64_t i = 0; i < x.nnz; i++) {
        if (i % 5 == 0)
            x.value[i] = 0;
        zeros += x.value[i] == 0;
    }
    const double norm_sq = coo_norm_sq(&x);
    for (uint64_t i = 0; i < x.nnz; i += 15, unknown++, zeros--)
        x.value[i] = unknown % 2 ? COO_UNKNOWN : -COO_UNKNOWN;
    const struct coo_listed listed = coo_count_listed(&x);
    assert_true(unknown > 1000 && zeros > 1000);
    assert_int_equal(listed.unknown, unknown);
    assert_int_equal(listed.zeros, zeros);
    assert_int_equal(listed.dropped, 0);
    assert_true(coo_norm_sq(&x) == norm_sq);
    coo_free(&x);
}

static void test_norm_does_not_depend_on_threads(void **state)
{
    (void)state;
    static const uint64_t dims[2] = {1000, 1000};
    struct coo x;
    naive_random_coo(&x, SHAPE(2, dims), 20000, 10, 0);
    int threads = omp_get_max_threads();
    double norm_sq[3];
    for (int t = 1; t <= 3; t++) {
        omp_set_num_threads(t);
        norm_sq[t - 1] = coo_norm_sq(&x);
    }
    omp_set_num_threads(threads);
    assert_memory_equal(&norm_sq[0], &norm_sq[1], sizeof *norm_sq);
    assert_memory_equal(&norm_sq[0], &norm_sq[2], sizeof *norm_sq);
    coo_free(&x);
}

static enum status create_grow_and_free(struct coo *x, struct error *error)
{
    static const uint64_t dims[3] = {5, 5, 5};
    enum status status = coo_create(x, SHAPE(3, dims), 10, error);
    if (status != STATUS_OK) {
        assert_null(x->value);
        assert_null(x->index[0]);
        return status;
    }
    for (uint64_t i = 0; i < 10; i++) {
        for (int n = 0; n < 3; n++)
            x->index[n][i] = (uint32_t)i / 2;
        x->value[i] = 1;
    }
    status = coo_resize(x, 20, error);
    assert_int_equal(x->nnz, status == STATUS_OK ? 20 : 10);
    x->nnz = 10;
    return status;
}

/* What is left after a failed cleaning still stands for the same tensor. */
static void check_sum(const struct coo *x)
{
    double sum = 0;
    for (uint64_t i = 0; i < x->nnz; i++)
        sum += isinf(x->value[i]) ? 0 : x->value[i]; /* infinite: added to another */
    assert_true(sum == 10);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct coo x;
        struct coo_cleaning report;
        memory_hook_set(k);
        enum status status = create_grow_and_free(&x, &error);
        if (status == STATUS_OK) {
            status = coo_clean(&x, NULL, COO_DROP_ZEROS, &report, &error);
            check_sum(&x);
        }
        fired = memory_hook_fired();
        memory_hook_set(-1);
        uint64_t left = x.nnz;
        coo_free(&x);
        if (status == STATUS_OK) { /* also where only giving memory back failed */
            assert_int_equal(report.duplicates, 5);
            assert_int_equal(left, 5);
        } else {
            assert_true(fired);
            assert_int_equal(status, STATUS_MEMORY);
            failures++;
        }
    }
    assert_true(failures > 10);
}

/* A sum too large for a double is reported with its coordinates; if several, that of the first
 * entry. */
static void test_sums_that_overflow(void **state)
{
    (void)state;
    static const uint32_t index[2][6] = {{4, 1, 4, 0, 1, 2}, {2, 0, 2, 3, 0, 2}};
    static const double value[] = {-1e308, 1e308, -1e308, 5, 1e308, 1};
    static const uint64_t first[] = {10, 4294967000};
    for (int part = 0; part < 2; part++) {
        struct coo x;
        struct coo_cleaning report;
        struct error error = {0};
        assert_int_equal(coo_create(&x, &(struct shape){2, {5, 4}}, 6, &error), STATUS_OK);
        for (int n = 0; n < 2; n++)
            memcpy(x.index[n], index[n], sizeof index[n]);
        memcpy(x.value, value, sizeof value);
        assert_int_equal(coo_clean(&x, part ? first : NULL, COO_DROP_ZEROS, &report, &error),
                         STATUS_INPUT);
        assert_string_equal(error.message,
                            part ? "the entries with the coordinates 15 4294967003, counted from "
                                   "1, add up to more than a double holds"
                                 : "the entries with the coordinates 5 3, counted from 1, add up "
                                   "to more than a double holds");
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_that_overflow),
        cmocka_unit_test(test_unknown_entries),
        cmocka_unit_test(test_clean_against_naive),
        cmocka_unit_test(test_sums_in_file_order),
        cmocka_unit_test(test_order_is_kept),
        cmocka_unit_test(test_ascending_needs_no_memory),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_norm_does_not_depend_on_threads),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
