/* Where MTTKRP works tile by tile, on lengths and nonzeros whose times were measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_pays),     cmocka_unit_test(test_two_modes),
        cmocka_unit_test(test_room_and_rows), cmocka_unit_test(test_forced),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
