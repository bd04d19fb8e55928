/* Nonzeros that are sorted in pieces, against nonzeros that are sorted at once: the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/cuda/tensor/device_coo.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "support/gpu_pool.h"
#include "support/naive.h"
#include "tensor/ordering.h"

/* The pairs of x along the ordering, unsorted where they will be selected again. */
static void sort_at_once(struct array_pairs *p, const struct line_pieces_nonzeros *x, int begin,
                         int end, int value_size)
{
    struct error error = {0};
    ok(device_pairs_take(p, x->nnz, value_size, &pool, &error), &error);
    good(linearise_words(x->line, p->key[0], x->nnz, &x->moves, pool.stream));
    good(linearise_gather(x->value, sizeof *x->value, NULL, 0, p->value[0], value_size, x->nnz,
                          pool.stream));
    ok(device_pairs_sort(p, begin, end, &pool, &error), &error);
}

static void compare(const struct array_pairs *a, const struct array_pairs *b)
{
    size_t size = (size_t)a->value_size;
    uint64_t *key = downloaded(a->key[0], a->count, sizeof *key);
    uint64_t *other = downloaded(b->key[0], a->count, sizeof *key);
    void *value = downloaded(a->value[0], a->count, size);
    void *other_value = downloaded(b->value[0], a->count, size);
    assert_memory_equal(key, other, a->count * sizeof *key);
    assert_memory_equal(value, other_value, a->count * size);
    free(key);
    free(other);
    free(value);
    free(other_value);
}

/* Every ordering of x; also from nonzeros that are sorted, so that few bits are left to sort by. */
static void check_tensor(const struct coo *x)
{
    struct error error = {0};
    for (int sorted = 0; sorted < 2; sorted++) {
        struct device_coo d;
        ok(device_coo_upload(&d, x, &staging, &pool, &error), &error);
        if (sorted)
            ok(device_coo_sort(&d, &error), &error);
        assert_non_null(d.line);
        for (int kind = ORDERING_ALTO; kind < x->shape.order; kind++) {
            struct ordering o;
            struct array_pairs at_once, pieces;
            struct line_pieces_nonzeros nonzeros = {d.line, d.value, d.nnz, {0}, 0};
            int size = kind % 2 ? 8 : 4;
            ordering_create(&o, kind, &x->shape, 64);
            ordering_moves_create(&nonzeros.moves, &d.ordering, &o, ORDERING_LINE, 0);
            int begin = device_coo_sorted_bits(&d, &o);
            sort_at_once(&at_once, &nonzeros, begin, o.line_bits, size);
            ok(device_pairs_take(&pieces, d.nnz, size, &pool, &error), &error);
            ok(device_pairs_sort_pieces(&pieces, &nonzeros, begin, o.line_bits, &pool, &error),
               &error);
            compare(&at_once, &pieces);
            device_pairs_give(&at_once, &pool);
            device_pairs_give(&pieces, &pool);
        }
        device_coo_free(&d);
    }
}

static void test_tensors(void **state)
{
    (void)state;
    static const struct {
        int order;
        uint64_t dims[4], nnz;
        int skewed;
    } cases[] = {
        {3, {3000, 2000, 1500}, 500000, 0},
        {3, {3000, 2000, 1500}, 500000, 1},
        {3, {1 << 22, 1 << 21, 1 << 20}, 100000, 0},
        {2, {5, 7}, 30, 0},
        {3, {1, 1, 1}, 1, 0},
        {4, {2, 60000, 3, 5}, 70000, 0},
        {1, {4000}, 3000, 0},
        {3, {1, 200000, 2}, 100000, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(cases[i].order, cases[i].dims), cases[i].nnz, i,
                         cases[i].skewed);
        check_tensor(&x);
        coo_free(&x);
    }
}

/* Where there is no room at once, an ordering is built in pieces; where there is none for pieces,
 * building fails. */
static void test_failing_allocations(void **state)
{
    (void)state;
    struct error none = {0};
    struct device_coo d;
    struct coo x;
    int made_do = 0, failures = 0;
    naive_random_coo(&x, &(struct shape){3, {3000, 2000, 1500}}, 200000, 1, 0);
    ok(device_coo_upload(&d, &x, &staging, &pool, &none), &none);
    struct device_blco expected;
    const struct device_blco_options options = {
        .kind = 1, .index_bits = 64, .precision = PRECISION_DOUBLE};
    ok(device_blco_build(&expected, &d, &options, &none), &none);
    uint64_t *index = downloaded(expected.index[0], x.nnz, sizeof *index);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct device_blco b;
        memory_hook_set(k);
        enum status status = device_blco_build(&b, &d, &options, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_true(status == STATUS_OK || (fired && status == STATUS_MEMORY));
        made_do += fired && status == STATUS_OK;
        failures += status != STATUS_OK;
        if (status == STATUS_OK) {
            uint64_t *other = downloaded(b.index[0], x.nnz, sizeof *index);
            assert_memory_equal(index, other, x.nnz * sizeof *index);
            free(other);
        }
        device_blco_free(&b);
    }
    assert_true(made_do >= 2 && failures >= 2);
    free(index);
    device_blco_free(&expected);
    device_coo_free(&d);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
