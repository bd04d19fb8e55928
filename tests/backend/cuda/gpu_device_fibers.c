/* Fibers are counted on the device as on the host, and tiles of the L2 cache are chosen as by the
 * same counts on the host; an ordering with any mode lowest has all nonzeros, in its own order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/tensor/device_fibers.h"
#include "numerics/fiber_sample.h"
#include "plan/tile_choice.h"
#include "support/lines.h"
#include "support/gpu_pool.h"

#define MAP_BITS (UINT64_C(1) << FIBER_MAP_BITS)
#define ALL_BITS 32

/* Tuples of the coordinates of x without dropped[n] bits of mode n. */
static double count_tuples(const struct coo *x, const int *dropped)
{
    const int skipped = fiber_skipped_bits(x->nnz);
    uint64_t marked = 0, *map = calloc(MAP_BITS / 64, sizeof *map);
    assert_non_null(map);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t hash = 0;
        for (int n = 0; n < x->shape.order; n++)
            if (dropped[n] < ALL_BITS)
                hash = fiber_hash(hash, x->index[n][i] >> dropped[n]);
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
            for (int n = 0; n < 4; n++) {
                int dropped[MAX_ORDER] = {0};
                dropped[n] = ALL_BITS;
                assert_true(fibers[n] == count_tuples(&x, dropped));
            }
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
        decode_index(o, &index[i], b->block[0].base, coordinate);
        coo_coordinates(x, from, expected);
        assert_memory_equal(coordinate, expected, (size_t)o->order * sizeof *expected);
        encode_line(o, coordinate, &line);
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

/* The nonzeros of x stand on the device in the order in which they are here. */
static double count_misses(const struct cache_tile_request *r, const struct coo *x, int g)
{
    uint32_t fresh[27] = {0};
    int draws = 0;
    unsigned char *seen = calloc(x->shape.dims[g], 1);
    assert_non_null(seen);
    for (; draws < 27 && UINT64_C(1) << draws <= x->nnz / 4; draws++)
        for (uint32_t d = (UINT32_C(1) << draws) / 2; d < UINT32_C(1) << draws; d++) {
            unsigned char *row = &seen[x->index[g][fiber_hash(0, d) % x->nnz]];
            fresh[draws] += *row == 0;
            *row = 1;
        }
    free(seen);
    return cache_tile_misses(r, fresh, draws);
}

static void count_on_host(struct cache_tile_counts *c, const struct cache_tile_request *r,
                          const struct coo *x)
{
    const int order = x->shape.order;
    memset(c, 0, sizeof *c);
    for (int g = 0; g < order; g++) {
        int dropped[MAX_ORDER] = {0};
        dropped[g] = ALL_BITS;
        c->fibers[g] = count_tuples(x, dropped);
        if (!cache_tile_may(r, g))
            continue;
        dropped[g] = cache_tile_bits(r);
        c->pieces[g] = count_tuples(x, dropped);
        c->misses[g] = count_misses(r, x, g);
        for (int n = 0; n < order; n++) {
            for (int k = 0; k < order; k++)
                dropped[k] = k == n ? 0 : k == g ? cache_tile_bits(r) : ALL_BITS;
            if (n != g)
                c->sums[g][n] = count_tuples(x, dropped);
        }
    }
}

/* How many modes are in tiles. */
static int check_choice(const struct coo *x, uint64_t cache_bytes)
{
    static const bool ordered[] = {true, true, true, false};
    static const int lowest[] = {-1, 2, 1, 0};
    const struct cache_tile_request r = {
        .shape = &x->shape, .nnz = x->nnz, .row_bytes = 64, .cache_bytes = cache_bytes};
    struct error error = {0};
    struct cache_tile_counts counts;
    struct device_coo d;
    struct tile tile[4] = {[1] = {.modes = 1, .mode = {0}, .bits = 5}};
    int tiled = 0;
    upload_coo(&d, x);
    ok(device_cache_tiles_choose(tile, &r, ordered, lowest, &d, &error), &error);
    count_on_host(&counts, &r, x);
    assert_true(!tile[1].in_cache && tile[1].bits == 5); /* was in tiles before */
    assert_int_equal(tile[3].modes, 0);
    for (int n = 0; n < 3; n += 2) {
        struct tile expected;
        cache_tile_choose(&expected, &r, &counts, n, lowest[n]);
        assert_int_equal(tile[n].modes, expected.modes);
        assert_int_equal(tile[n].mode[0], expected.mode[0]);
        assert_int_equal(tile[n].bits, expected.bits);
        assert_int_equal(tile[n].in_cache, expected.in_cache);
        tiled += tile[n].modes;
    }
    device_coo_free(&d);
    return tiled;
}

static void test_choices(void **state)
{
    (void)state;
    static const uint64_t dims[][4] = {{700, 40, 9000, 3}, {1 << 28, 30, 40, 1 << 28}};
    static const uint64_t nonzeros[] = {1, 3000, 1500000};
    int tiled = 0;
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 3; i++) {
            struct coo x;
            naive_random_coo(&x, SHAPE(4, dims[t]), nonzeros[i], 7, t);
            for (uint64_t bytes = 128; bytes <= 1 << 20 && t == 0; bytes *= 8)
                tiled += check_choice(&x, bytes);
            if (t == 1)
                check_choice(&x, 1 << 20);
            coo_free(&x);
        }
    assert_true(tiled > 0);
}

/* Nothing is counted, and nothing changes, where there is no room. */
static void test_failing_allocations(void **state)
{
    (void)state;
    static const bool ordered[] = {true, true, true};
    static const int lowest[] = {-1, -1, -1};
    struct coo x;
    struct device_coo d;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, ((uint64_t[]){300, 2000, 77})), 20000, 8, 0);
    upload_coo(&d, &x);
    const struct cache_tile_request r = {
        .shape = &x.shape, .nnz = x.nnz, .row_bytes = 64, .cache_bytes = 1024, .forced = 1};
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct tile tile[3] = {{0}};
        memory_hook_set(k);
        const enum status status = device_cache_tiles_choose(tile, &r, ordered, lowest, &d, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(tile[1].modes, fired ? 0 : 1);
        failures += fired != 0;
    }
    assert_int_equal(failures, 3);
    device_coo_free(&d);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_every_lowest_mode),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
