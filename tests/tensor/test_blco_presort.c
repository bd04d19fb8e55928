#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/naive.h"
#include "tensor/blco.h"
#include "tensor/ordering_moves.h"
#include "tensor/ordering.h"

/* Sorts x by coordinates, mode by mode, as a sorted file is. */
static enum status sort_coordinates(struct coo *x)
{
    struct error error = {0};
    struct ordering natural;
    struct coo sorted;
    ordering_natural(&natural, &x->shape);
    assert_int_equal(coo_create(&sorted, &x->shape, x->nnz, &error), STATUS_OK);
    uint64_t *key = memory_array(x->nnz, sizeof *key, &error);
    uint64_t *position = memory_array(x->nnz, sizeof *position, &error);
    assert_true(key && position);
    for (uint64_t i = 0; i < x->nnz; i++)
        position[i] = i;
    ordering_sort(&natural, x, position, x->nnz, key, &error);
    for (uint64_t i = 0; i < x->nnz; i++) {
        for (int n = 0; n < x->shape.order; n++)
            sorted.index[n][i] = x->index[n][position[i]];
        sorted.value[i] = x->value[position[i]];
    }
    memory_free(key);
    memory_free(position);
    coo_free(x);
    *x = sorted;
    return error.status;
}

static void assert_same(const struct blco *a, const struct blco *b)
{
    assert_int_equal(a->nblocks, b->nblocks);
    assert_int_equal(a->ordering.words, 1);
    assert_true(a->norm_sq == b->norm_sq);
    for (uint64_t k = 0; k < a->nblocks; k++) {
        assert_int_equal(a->block[k].first, b->block[k].first);
        assert_int_equal(a->block[k].count, b->block[k].count);
        assert_memory_equal(a->block[k].base, b->block[k].base, sizeof a->block[k].base);
    }
    assert_memory_equal(a->index[0], b->index[0], a->nnz * sizeof *a->index[0]);
    assert_memory_equal(a->value, b->value, a->nnz * sizeof *a->value);
}

/* From a presort, every ordering `mode n` comes out as it is built from x. */
static void check_presort(const struct coo *x)
{
    struct error error = {0};
    struct blco_presort presort;
    assert_true(blco_presort_possible(&x->shape));
    assert_int_equal(blco_presort_create(&presort, x, NULL, &error), STATUS_OK);
    int common = presort.line_order.kind;
    for (int i = 0; i <= x->shape.order; i++) {
        int n = i < x->shape.order ? i : common;
        struct blco b, expected;
        struct blco_options options = {.kind = n, .index_bits = 64};
        assert_int_equal(blco_build(&expected, x, &options, &error), STATUS_OK);
        assert_int_equal(blco_build_from(&b, &presort, n, i == x->shape.order, &error), STATUS_OK);
        assert_same(&b, &expected);
        blco_free(&b);
        blco_free(&expected);
    }
    blco_presort_free(&presort);
}

static void test_every_mode(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        uint64_t nnz;
    } some[] = {
        {{1, {100}}, 60},
        {{2, {1, 1}}, 1},
        {{3, {50, 1, 70}}, 0},
        {{3, {40, 900, 12}}, 20000},
        {{3, {900, 40, 700}}, 60000},
        {{4, {12, 7, 300, 90}}, 30000},
        {{5, {5, 4, 3, 60, 9}}, 9000},
        {{3, {UINT64_C(1) << 22, UINT64_C(1) << 21, UINT64_C(1) << 21}}, 5000}, /* 64 bits */
    };
    for (size_t s = 0; s < sizeof some / sizeof *some; s++)
        for (int sorted = 0; sorted <= 1; sorted++) {
            struct coo x;
            naive_random_coo(&x, &some[s].shape, some[s].nnz, s, s % 2);
            omp_set_num_threads(1 + (int)s % 3);
            if (sorted)
                assert_int_equal(sort_coordinates(&x), STATUS_OK);
            check_presort(&x);
            coo_free(&x);
        }
}

static void test_possible(void **state)
{
    (void)state;
    const uint64_t dims[] = {UINT64_C(1) << 32, UINT64_C(1) << 32, 2};
    assert_true(blco_presort_possible(SHAPE(2, dims)));
    assert_false(blco_presort_possible(SHAPE(3, dims)));
}

static void test_allocation_failures(void **state)
{
    (void)state;
    const uint64_t dims[] = {30, 200, 9};
    struct coo x;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 1, 0);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct blco_presort presort;
        struct blco b = {0};
        memory_hook_set(k);
        enum status status = blco_presort_create(&presort, &x, NULL, &error);
        if (status == STATUS_OK)
            status = blco_build_from(&b, &presort, 1, true, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
        blco_presort_free(&presort);
        blco_free(&b);
    }
    assert_true(failures > 5);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mode),
        cmocka_unit_test(test_possible),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
