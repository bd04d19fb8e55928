/* How many fibers there are by a sample, and which mode is lowest in an ordering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "numerics/fiber_sample.h"
#include "plan/tile_choice.h"

#define MAP_BITS (UINT64_C(1) << FIBER_MAP_BITS)

/* As a backend counts: `fibers` fibers of coordinates (i, 2 i mod 1000), each seen `times` times.
 */
static double counted(uint64_t fibers, uint64_t times)
{
    struct error error = {0};
    const int skipped = fiber_skipped_bits(fibers * times);
    uint64_t marked = 0, *map = memory_zeros(MAP_BITS / 64, sizeof *map, &error);
    assert_non_null(map);
    for (uint64_t i = 0; i < fibers * times; i++) {
        const uint32_t at = (uint32_t)(i % fibers);
        const uint64_t hash = fiber_hash(fiber_hash(0, at), 2 * at % 1000);
        const uint32_t bit = fiber_bit(hash);
        if (!fiber_is_sampled(hash, skipped) || map[bit / 64] >> bit % 64 & 1)
            continue;
        map[bit / 64] |= UINT64_C(1) << bit % 64;
        marked++;
    }
    memory_free(map);
    return fiber_estimate(marked, skipped);
}

static void test_estimates(void **state)
{
    (void)state;
    static const struct {
        uint64_t fibers, times;
        double off; /* at most, relative */
    } cases[] = {{0, 1, 0},         {1, 1, 1e-6},       {1000, 5, 2e-3},
                 {100000, 7, 2e-3}, {1000000, 1, 5e-3}, {1000000, 12, .01}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double n = (double)cases[i].fibers, x = counted(cases[i].fibers, cases[i].times);
        assert_true(fabs(x - n) <= cases[i].off * n);
    }
}

/* So many nonzeros never crowd the map. */
static void test_skipped_bits(void **state)
{
    (void)state;
    assert_int_equal(fiber_skipped_bits(0), 0);
    assert_int_equal(fiber_skipped_bits(MAP_BITS / 4), 0);
    assert_int_equal(fiber_skipped_bits(MAP_BITS / 2), 1);
    assert_int_equal(fiber_skipped_bits(MAP_BITS * 1024), 12);
}

/* fiber_lowest of an ordering in tiles of the mode `tiled`, or -1: in none. */
static int lowest(int mode, int tiled, const struct shape *shape, const double *fibers)
{
    const struct tile tile = {.modes = tiled >= 0, .mode = {tiled}, .bits = 9};
    return fiber_lowest(mode, &tile, shape, fibers);
}

static void test_lowest(void **state)
{
    (void)state;
    static const struct shape shape = {4, {50, 300, 300, 20}};
    static const double equal[] = {1000, 1000, 1000, 1000}, few[] = {1000, 900, 1000, 700},
                        fewer[] = {500, 900, 1000, 700};
    for (int n = 0; n < 4; n++)
        assert_int_equal(lowest(n, -1, &shape, equal), -1);
    assert_int_equal(lowest(0, -1, &shape, few), 3);
    assert_int_equal(lowest(2, -1, &shape, few), 3);
    assert_int_equal(lowest(3, -1, &shape, few), -1); /* mode 2 is not much better than mode 3 */
    assert_int_equal(lowest(3, -1, &shape, fewer), 0);
    assert_int_equal(lowest(0, -1, &shape, fewer), 3);
    static const struct shape vector = {1, {7}}, matrix = {2, {7, 5}};
    assert_int_equal(lowest(0, -1, &vector, few), -1);
    assert_int_equal(lowest(0, -1, &matrix, few), -1);
}

/* The tiled mode has its place already. */
static void test_lowest_in_tiles(void **state)
{
    (void)state;
    static const struct shape shape = {4, {50, 300, 300, 20}}, cube = {3, {9, 8, 7}};
    static const double fibers[] = {500, 900, 1000, 700};
    assert_int_equal(lowest(3, 0, &shape, fibers), -1);
    assert_int_equal(lowest(1, 0, &shape, fibers), 3);
    assert_int_equal(lowest(1, 2, &shape, fibers), -1); /* mode 0 is the longest of modes 0 and 3 */
    assert_int_equal(lowest(1, 2, &cube, fibers), -1);
    assert_int_equal(lowest(1, 0, &cube, fibers), -1);
    static const struct shape longer = {5, {50, 300, 300, 20, 10}};
    static const double more_fibers[] = {500, 900, 1000, 700, 300};
    const struct tile two = {.modes = 2, .mode = {0, 4}, .bits = 9};
    assert_int_equal(fiber_lowest(1, &two, &longer, more_fibers), 3);
}

static void test_open_choices(void **state)
{
    (void)state;
    static const struct tile none = {0}, tile = {.modes = 1, .mode = {1}, .bits = 9},
                             two = {.modes = 2, .mode = {1, 2}, .bits = 9};
    const struct tile plain[] = {none, none, none, none}, first[] = {tile, none, none, none},
                      all[] = {tile, tile, tile, tile}, twice[] = {two, none, none, none};
    static const bool every[] = {true, true, true, true}, one[] = {true, false, false, false},
                      no[] = {false, false, false, false};
    assert_false(fiber_choice_open(1, every, plain));
    assert_false(fiber_choice_open(2, every, plain));
    assert_true(fiber_choice_open(3, every, plain));
    assert_true(fiber_choice_open(3, every, first));
    assert_false(fiber_choice_open(3, every, all));
    assert_false(fiber_choice_open(3, one, first));
    assert_true(fiber_choice_open(4, one, all));
    assert_false(fiber_choice_open(4, no, plain));
    assert_false(fiber_choice_open(4, one, twice));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates),    cmocka_unit_test(test_skipped_bits),
        cmocka_unit_test(test_lowest),       cmocka_unit_test(test_lowest_in_tiles),
        cmocka_unit_test(test_open_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
