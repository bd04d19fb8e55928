/* Distinct coordinates are found to be distinct; one entry that stands twice, anywhere, is found:
 * of few entries and of many, of lines that fit into 64 bits or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/naive.h"
#include "tensor/coo.h"

static const struct shape shapes[] = {
    {1, {4000000}},
    {2, {2000, 1 << 12}},
    {3, {300, 1, 20000}},
    {3, {UINT32_MAX, 2, UINT32_MAX}},          /* 65 bits */
    {4, {1 << 16, 1 << 16, 1 << 16, 1 << 16}}, /* 64 bits */
    {8, {9, 7, 5, 3, 11, 13, 6, 1000}},
};

/* Coordinates of the multiples of a number, counted along the tensor: in no order, all different
 * where the number has no factor in common with the product of the lengths. */
static void scattered_coo(struct coo *x, const struct shape *shape, uint64_t nnz)
{
    struct error error = {0};
    __extension__ unsigned __int128 all = 1, at = 0, step = 1000000007;
    for (int n = 0; n < shape->order; n++)
        all *= shape->dims[n];
    assert_true(nnz <= all);
    assert_int_equal(coo_create(x, shape, nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        __extension__ unsigned __int128 left = at;
        for (int n = 0; n < shape->order; n++) {
            x->index[n][i] = (uint32_t)(left % shape->dims[n]);
            left /= shape->dims[n];
        }
        x->value[i] = 1;
        at = (at + step) % all;
    }
}

static bool found_distinct(const struct coo *x)
{
    struct error error = {0};
    bool distinct = false;
    assert_int_equal(coo_distinct(x, &distinct, &error), STATUS_OK);
    return distinct;
}

static void copy_entry(struct coo *x, uint64_t from, uint64_t to)
{
    for (int n = 0; n < x->shape.order; n++)
        x->index[n][to] = x->index[n][from];
}

/* Entries that are distinct are no longer so after one of them has become another. */
static void check_twice(struct coo *x)
{
    const uint64_t pairs[][2] = {
        {0, x->nnz - 1}, {x->nnz - 1, 0}, {x->nnz / 2, x->nnz / 2 - 1}, {x->nnz / 3, x->nnz / 4}};
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0] && x->nnz >= 12; p++) {
        uint32_t kept[MAX_ORDER];
        coo_coordinates(x, pairs[p][1], kept);
        copy_entry(x, pairs[p][0], pairs[p][1]);
        assert_false(found_distinct(x));
        for (int n = 0; n < x->shape.order; n++)
            x->index[n][pairs[p][1]] = kept[n];
    }
}

static void test_finds_what_stands_twice(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 12, 1000, 70001};
    int threads = omp_get_max_threads();
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct coo x;
            scattered_coo(&x, &shapes[s], sizes[i]);
            for (int t = 1; t <= 5; t += 2) {
                omp_set_num_threads(t);
                assert_true(found_distinct(&x));
            }
            omp_set_num_threads(3);
            check_twice(&x);
            coo_free(&x);
        }
    omp_set_num_threads(threads);
}

/* Neighbours in each mode, as in a dense block, and the same block twice. */
static void test_dense_blocks(void **state)
{
    (void)state;
    struct coo x;
    struct error error = {0};
    const struct shape shape = {3, {64, 64, 64}};
    const uint64_t block = 64 * 64 * 64;
    assert_int_equal(coo_create(&x, &shape, 2 * block, &error), STATUS_OK);
    for (uint64_t i = 0; i < 2 * block; i++)
        for (int n = 0; n < 3; n++)
            x.index[n][i] = (uint32_t)(i >> (6 * n) & 63);
    assert_false(found_distinct(&x));
    x.nnz = block;
    assert_true(found_distinct(&x));
    x.nnz = 2 * block;
    coo_free(&x);
}

/* Every entry the same: more keys in a bucket than there is room for. */
static void test_all_alike(void **state)
{
    (void)state;
    struct coo x;
    scattered_coo(&x, &shapes[1], 100000);
    for (uint64_t i = 1; i < x.nnz; i++)
        copy_entry(&x, 0, i);
    assert_false(found_distinct(&x));
    coo_free(&x);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    struct coo x;
    int failures = 0;
    scattered_coo(&x, &shapes[2], 20000);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        bool distinct = true;
        memory_hook_set(k);
        enum status status = coo_distinct(&x, &distinct, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(distinct, !fired);
        failures += (int)fired;
    }
    assert_true(failures >= 3);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_stands_twice),
        cmocka_unit_test(test_dense_blocks),
        cmocka_unit_test(test_all_alike),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("coo_distinct", tests, NULL, NULL);
}
