/* Where MTTKRP works tile by tile, on lengths and nonzeros whose times were measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "plan/tile_choice.h"

#define ROW  256 /* bytes of a row of 32 doubles */
#define ROOM (UINT64_C(64) << 30)

static const struct shape nell2 = {3, {12092, 9184, 28818}};
static const struct shape enron = {4, {6066, 5699, 244268, 1176}};
static const struct shape uber = {4, {183, 24, 1140, 1717}};
static const struct shape amazon = {3, {4821207, 1774269, 1805187}};

static struct tile chosen(const struct shape *shape, uint64_t nnz, int mode, uint64_t room)
{
    static const int bits[] = {0, 9, 8};
    const struct tile_request r = {.shape = shape, .nnz = nnz, .row_bytes = ROW, .room = room};
    struct tile tile;
    const uint64_t bytes = tile_choose(&tile, &r, mode);
    assert_int_equal(tile.bits, bits[tile.modes]);
    assert_false(tile.in_cache);
    if (tile.modes == 0)
        assert_int_equal(bytes, 0);
    else
        assert_true(bytes > 0 && bytes <= nnz * ROW / 30);
    return tile;
}

/* The tiled mode; -1 where none is. */
static int tiled_mode(const struct shape *shape, uint64_t nnz, int mode, uint64_t room)
{
    const struct tile tile = chosen(shape, nnz, mode, room);
    assert_true(tile.modes < 2);
    return tile.modes > 0 ? tile.mode[0] : -1;
}

static void test_what_pays(void **state)
{
    (void)state;
    static const int of_nell2[] = {1, 0, 1};
    for (int n = 0; n < 3; n++) {
        assert_int_equal(tiled_mode(&nell2, 76879419, n, ROOM), of_nell2[n]);
        assert_int_equal(tiled_mode(&amazon, 1741809018, n, ROOM), -1);
    }
    for (int n = 0; n < 4; n++)
        assert_int_equal(tiled_mode(&uber, 3309490, n, ROOM), -1);
}

/* Two modes are tiled where a row of M still has nonzeros enough in each pair of tiles: not where M
 * is long, nor where there are fewer nonzeros, nor where one mode fits into a tile anyway. */
static void test_two_modes(void **state)
{
    (void)state;
    static const int of_enron[][2] = {{3, 1}, {3, 0}, {3, 3}, {1, 0}};
    static const struct shape dense = {3, {2000, 3000, 1000}}, flat = {3, {2000, 256, 200}};
    for (int n = 0; n < 4; n++) {
        const struct tile tile = chosen(&enron, 54202099, n, ROOM);
        assert_int_equal(tile.modes, n == 2 ? 1 : 2);
        for (int k = 0; k < tile.modes; k++)
            assert_int_equal(tile.mode[k], of_enron[n][k]);
        assert_int_equal(chosen(&enron, 15000000, n, ROOM).modes, n == 2 ? 0 : 1);
    }
    for (int n = 0; n < 3; n++)
        assert_int_equal(chosen(&dense, 50000000, n, ROOM).modes, 2);
    assert_int_equal(chosen(&flat, 50000000, 0, ROOM).modes, 1);
}

/* Partial sums need room; rows of other lengths have tiles of other numbers of rows. */
static void test_room_and_rows(void **state)
{
    (void)state;
    assert_int_equal(tiled_mode(&nell2, 76879419, 0, 1000), -1);
    static const struct {
        uint64_t row_bytes;
        int bits;
    } rows[] = {{16, 11}, {64, 11}, {80, 10}, {128, 10}, {144, 9}, {1024, 9}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tile_request r = {
            .shape = &nell2, .nnz = 76879419, .row_bytes = rows[i].row_bytes, .room = ROOM};
        struct tile tile;
        tile_choose(&tile, &r, 0);
        assert_int_equal(tile.bits, rows[i].bits);
        assert_int_equal(tile.modes, 1);
    }
}

/* Tests ask for small tiles of any tensor; a vector has no other mode. */
static void test_forced(void **state)
{
    (void)state;
    static const struct shape vector = {1, {100}}, matrix = {2, {100, 50}};
    struct tile tile;
    for (int modes = 1; modes <= 2; modes++) {
        struct tile_request r = {.shape = &uber, .nnz = 7, .row_bytes = ROW, .forced = modes};
        for (int n = 0; n < 4; n++) {
            assert_int_equal(tile_choose(&tile, &r, n), 0);
            assert_true(tile.modes == modes && tile.bits == 2);
            for (int k = 0; k < modes; k++)
                assert_int_equal(tile.mode[k], (n + 1 + k) % 4);
        }
        r.shape = &vector;
        tile_choose(&tile, &r, 0);
        assert_int_equal(tile.modes, 0);
        r.shape = &matrix;
        tile_choose(&tile, &r, 0);
        assert_int_equal(tile.modes, 1);
    }
}

/* Lines of more than a word have no tiles. */
static void test_long_lines(void **state)
{
    (void)state;
    static const struct shape wide = {3, {MAX_LENGTH, MAX_LENGTH, 1000}};
    const struct tile_request r = {
        .shape = &wide, .nnz = MAX_NNZ, .row_bytes = ROW, .room = UINT64_MAX};
    struct tile tile;
    for (int n = 0; n < 3; n++) {
        assert_int_equal(tile_choose(&tile, &r, n), 0);
        assert_int_equal(tile.modes, 0);
    }
}

/* --- Where MTTKRP works in tiles of the L2 cache: a tensor whose times were measured, and counts
 * that show one reason each. --- */

#define ROW_BYTES 256                  /* bytes of a row of 32 doubles */
#define CACHE     (UINT64_C(60) << 20) /* of an H200 */

static struct cache_tile_request request(const struct shape *shape, uint64_t nnz)
{
    return (struct cache_tile_request){
        .shape = shape, .nnz = nnz, .row_bytes = ROW_BYTES, .cache_bytes = CACHE};
}

/* The tiled mode; -1 where none is. */
static int cache_tiled_mode(const struct cache_tile_request *r, const struct cache_tile_counts *c,
                            int mode, int lowest)
{
    struct tile tile;
    cache_tile_choose(&tile, r, c, mode, lowest);
    if (tile.modes == 0)
        return -1;
    assert_int_equal(tile.modes, 1);
    assert_true(tile.in_cache);
    assert_int_equal(tile.bits, cache_tile_bits(r));
    return tile.mode[0];
}

/* A tile takes half of the cache at most, and one row at least. */
static void test_bits(void **state)
{
    (void)state;
    static const struct {
        uint64_t row_bytes, cache_bytes;
        int bits;
    } cases[] = {
        {ROW_BYTES, CACHE, 16},        {ROW_BYTES, UINT64_C(50) << 20, 16}, {128, CACHE, 17},
        {ROW_BYTES, 4 * ROW_BYTES, 1}, {ROW_BYTES, 3 * ROW_BYTES, 0},       {ROW_BYTES, 1, 0},
        {16, UINT64_MAX, 31}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cache_tile_request r = request(&amazon, 1);
        r.row_bytes = cases[i].row_bytes;
        r.cache_bytes = cases[i].cache_bytes;
        assert_int_equal(cache_tile_bits(&r), cases[i].bits);
    }
}

/* Factor matrices of more than two caches, where an index keeps one word. */
static void test_candidates(void **state)
{
    (void)state;
    static const struct shape patents = {3, {46, 239172, 239172}}, one = {3, {5, 6, 4821207}},
                              wide = {3, {MAX_LENGTH, MAX_LENGTH, 1000}},
                              widest = {4, {MAX_LENGTH, MAX_LENGTH, 1000000, 1}};
    struct cache_tile_request r = request(&amazon, 7);
    for (int g = 0; g < 3; g++)
        assert_true(cache_tile_may(&r, g) && cache_tile_open(&r, g));
    r.cache_bytes = 0;
    assert_false(cache_tile_may(&r, 0) || cache_tile_open(&r, 0));
    r = request(&patents, 7);
    for (int g = 0; g < 3; g++)
        assert_false(cache_tile_may(&r, g) || cache_tile_open(&r, g));
    r = request(&one, 7);
    assert_true(cache_tile_may(&r, 2));
    assert_true(cache_tile_open(&r, 0));
    assert_false(cache_tile_open(&r, 2));
    r = request(&wide, 7);
    assert_true(cache_tile_may(&r, 0));
    r = request(&widest, 7);
    assert_false(cache_tile_may(&r, 0));
}

/* The draws after those that fill half of the cache, which has room for 4 rows. */
static void test_misses(void **state)
{
    (void)state;
    static const uint32_t never[] = {1, 0, 1, 1, 0}, all[] = {1, 1, 2, 4, 8, 16},
                          half[] = {1, 1, 1, 2, 4, 8};
    struct cache_tile_request r = request(&amazon, 7);
    r.cache_bytes = 8 * ROW_BYTES;
    assert_true(cache_tile_misses(&r, never, 5) == 0);
    assert_true(cache_tile_misses(&r, all, 6) == 1);
    assert_true(cache_tile_misses(&r, half, 6) == 0.5);
    assert_true(cache_tile_misses(&r, all, 3) == 0); /* nothing is known of later draws */
    assert_true(cache_tile_misses(&r, all, 0) == 0);
}

/* What the skew of amazon's preset gives. Modes 1 and 2 gather words, most of which the
 * cache has anyway: tiles of words took 1.08 and 1.03 times as long on an H200. The third mode
 * gathers reviewers and products, which miss. */
static void test_amazon(void **state)
{
    (void)state;
    struct cache_tile_counts c = {
        .fibers = {1.43e9, 1.53e9, 34e6},
        .pieces = {1.65e9, 1.66e9, 0.76e9},
        .misses = {0.93, 0.79, 0.40},
        .sums = {{0, 25.5e6, 125e6}, {27.4e6, 0, 49.7e6}, {132e6, 49.7e6, 0}}};
    const struct cache_tile_request r = request(&amazon, 1741809018);
    assert_int_equal(cache_tiled_mode(&r, &c, 0, 2), -1);
    assert_int_equal(cache_tiled_mode(&r, &c, 1, 2), -1);
    assert_true(cache_tiled_mode(&r, &c, 2, -1) >= 0);
    c.misses[0] = 0.2; /* the cache has most reviewers */
    assert_int_equal(cache_tiled_mode(&r, &c, 2, -1), 1);
    c.misses[1] = 0.2;
    assert_int_equal(cache_tiled_mode(&r, &c, 2, -1), -1);
}

/* Most nonzeros of darpa have a row of the long mode of their own, which misses in any order: tiles
 * took 1.9 times as long on an H200. */
static void test_darpa(void **state)
{
    (void)state;
    static const struct shape darpa = {3, {22476, 22476, 23776223}};
    struct cache_tile_counts c = {.fibers = {25e6, 25e6, 1e6},
                                  .pieces = {0, 0, 4e6},
                                  .misses = {0, 0, 0.85},
                                  .sums = {{0}, {0}, {2e6, 2e6, 0}}};
    struct cache_tile_request r = request(&darpa, 28436033);
    assert_int_equal(cache_tiled_mode(&r, &c, 0, 2), -1);
    assert_int_equal(cache_tiled_mode(&r, &c, 1, 2), -1);
    r.nnz *= 50; /* so often is each row gathered */
    assert_int_equal(cache_tiled_mode(&r, &c, 0, 2), 2);
}

/* Tiles do not pay where nearly each nonzero has a sum of its own, nor where they cut fibers, along
 * which the rows of other modes are gathered once. */
static void test_reasons(void **state)
{
    (void)state;
    static const struct shape matrix = {2, {4000000, 4000000}}, cube = {3, {4000000, 4000000, 9}};
    struct cache_tile_counts c = {
        .fibers = {4e6, 4e6, 9e8}, .pieces = {2e8, 2e8, 0}, .misses = {0.9, 0.9, 0}};
    struct cache_tile_request r = request(&matrix, 1000000000);
    c.sums[1][0] = 2e8;
    assert_int_equal(cache_tiled_mode(&r, &c, 0, -1), 1);
    c.sums[1][0] = 8e8;
    assert_int_equal(cache_tiled_mode(&r, &c, 0, -1), -1);

    r = request(&cube, 1000000000);
    c.fibers[1] = 1e8;
    c.sums[0][2] = c.sums[1][2] = 700;
    c.pieces[1] = 1.2e8;
    assert_int_equal(cache_tiled_mode(&r, &c, 2, 1), 1);
    c.pieces[1] = 9e8; /* each piece gathers a row of mode 1, which misses */
    assert_int_equal(cache_tiled_mode(&r, &c, 2, 1), -1);
}

/* Tests and benchmarks name the mode. */
static void test_forced_in_cache(void **state)
{
    (void)state;
    static const struct shape vector = {1, {100}}, small = {4, {7, 30, 5, 1}};
    static const struct cache_tile_counts none = {0};
    struct cache_tile_request r = request(&small, 7);
    for (r.forced = 1; r.forced <= 5; r.forced++)
        for (int n = 0; n < 4; n++) {
            const bool is_tiled = r.forced <= 4 && n != r.forced - 1;
            assert_int_equal(cache_tiled_mode(&r, &none, n, -1), is_tiled ? r.forced - 1 : -1);
            assert_int_equal(cache_tile_open(&r, n), is_tiled);
        }
    r = request(&amazon, 1741809018);
    r.forced = -1;
    assert_false(cache_tile_may(&r, 0));
    r = request(&vector, 7);
    r.forced = 1;
    assert_int_equal(cache_tiled_mode(&r, &none, 0, -1), -1);
}

/* A user's choice of the conflict resolution leaves no tiles. */
static void test_request(void **state)
{
    (void)state;
    struct cache_tile_request r;
    struct plan plan = {.request = {.row_bytes = 80, .cache_bytes = CACHE}};
    plan.request.forced.cache_tiles = 2;
    cache_tile_request(&r, &plan, &amazon, 9);
    assert_ptr_equal(r.shape, &amazon);
    assert_true(r.nnz == 9 && r.row_bytes == 80 && r.cache_bytes == CACHE && r.forced == 2);
    plan.request.forced.cache_bytes = 1000;
    cache_tile_request(&r, &plan, &amazon, 9);
    assert_int_equal(r.cache_bytes, 1000);
    plan.request.conflict = CONFLICT_ORDERED;
    cache_tile_request(&r, &plan, &amazon, 9);
    assert_int_equal(r.cache_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_pays),     cmocka_unit_test(test_two_modes),
        cmocka_unit_test(test_room_and_rows), cmocka_unit_test(test_forced),
        cmocka_unit_test(test_long_lines),    cmocka_unit_test(test_bits),
        cmocka_unit_test(test_candidates),    cmocka_unit_test(test_misses),
        cmocka_unit_test(test_amazon),        cmocka_unit_test(test_darpa),
        cmocka_unit_test(test_reasons),       cmocka_unit_test(test_forced_in_cache),
        cmocka_unit_test(test_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
