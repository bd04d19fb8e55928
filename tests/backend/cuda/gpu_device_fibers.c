/* Fibers are counted on the device as on the host, and an ordering with any mode lowest has all
 * nonzeros, in its own order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/tensor/device_fibers.h"
#include "numerics/fiber_sample.h"
#include "plan/fiber_choice.h"
#include "support/gpu_pool.h"

#define MAP_BITS (UINT64_C(1) << FIBER_MAP_BITS)

static double count_on_host(const struct coo *x, int along)
{
    const int skipped = fiber_skipped_bits(x->nnz);
    uint64_t marked = 0, *map = calloc(MAP_BITS / 64, sizeof *map);
    assert_non_null(map);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t hash = 0;
        for (int n = 0; n < x->shape.order; n++)
            if (n != along)
                hash = fiber_hash(hash, x->index[n][i]);
        const uint32_t bit = fiber_bit(hash);
        if (!fiber_is_sampled(hash, skipped) || map[bit / 64] >> bit % 64 & 1)
            continue;
        map[bit / 64] |= UINT64_C(1) << bit % 64;
        marked++;
    }
    free(map);
    return fiber_estimate(marked, skipped);
}

static void test_counts(void **state)
{
    (void)state;
    static const uint64_t dims[][4] = {{700, 40, 9000, 3}, {MAX_LENGTH, 30, 40, MAX_LENGTH}};
    static const uint64_t nonzeros[] = {1, 3000, 1500000};
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 3; i++) {
            struct error error = {0};
            struct coo x;
            struct device_coo d;
            double fibers[MAX_ORDER];
            naive_random_coo(&x, SHAPE(4, dims[t]), nonzeros[i], 7, 1);
            upload_coo(&d, &x);
            ok(device_fibers_count(fibers, &d, &error), &error);
            for (int n = 0; n < 4; n++)
                assert_true(fibers[n] == count_on_host(&x, n));
            device_coo_free(&d);
            coo_free(&x);
        }
}

/* The values number the nonzeros of x from 1. */
static void check_nonzeros(const struct device_blco *b, const struct coo *x)
{
    const struct ordering *o = &b->ordering;
    uint64_t *index = downloaded(b->index[0], b->nnz, sizeof *index), before = 0;
    double *value = downloaded(b->value, b->nnz, sizeof *value);
    assert_int_equal(o->words, 1);
    assert_int_equal(o->cut, o->line_bits);
    for (uint64_t i = 0; i < b->nnz; i++) {
        const uint64_t from = (uint64_t)value[i] - 1;
        uint32_t coordinate[MAX_ORDER], expected[MAX_ORDER];
        uint64_t line;
        ordering_decode(o, &index[i], b->block[0].base, coordinate);
        coo_coordinates(x, from, expected);
        assert_memory_equal(coordinate, expected, (size_t)o->order * sizeof *expected);
        ordering_encode(o, coordinate, &line);
        assert_true(i == 0 || line > before);
        before = line;
    }
    free(index);
    free(value);
}

static void test_every_lowest_mode(void **state)
{
    (void)state;
    static const uint64_t dims[] = {70, 40, 900, 3};
    struct coo x;
    naive_random_coo(&x, SHAPE(4, dims), 50000, 7, 1);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = (double)(i + 1);
    for (int mode = 0; mode < 4; mode++)
        for (int lowest = -1; lowest < 4; lowest++)
            for (int way = 0; way < 4 && lowest != mode; way++) {
                struct error error = {0};
                struct device_coo d;
                struct device_blco b;
                const struct device_blco_options options = {
                    .kind = mode, .lowest = &lowest, .last = way % 2};
                upload_coo(&d, &x);
                if (way / 2 == 1)
                    ok(device_coo_sort(&d, &error), &error);
                ok(device_blco_build(&b, &d, &options, &error), &error);
                const int longest = mode == 2 ? 0 : 2;
                assert_int_equal(b.ordering.place[lowest < 0 ? longest : lowest][0], 0);
                check_nonzeros(&b, &x);
                device_blco_free(&b);
                device_coo_free(&d);
            }
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_every_lowest_mode),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
