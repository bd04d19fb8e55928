#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/lines.h"
#include "support/naive.h"
#include "tensor/ordering.h"
#include "support/packed_tensors.h"

static const int cuts[] = {1, 5, 31, 63, 64, 65, 80, 100, 127, 128};
#define CUTS ((int)(sizeof cuts / sizeof *cuts))

/* Order 1 to 16; lengths 1, 2, MAX_LENGTH and everything between, spread over bit widths. */
static int random_shape(uint64_t *dims, uint64_t *seed)
{
    int order = 1 + (int)(naive_random(seed) % MAX_ORDER);
    for (int n = 0; n < order; n++) {
        int bits = (int)(naive_random(seed) % 33);
        dims[n] = bits == 32 ? MAX_LENGTH : 1 + (naive_random(seed) & ((UINT64_C(1) << bits) - 1));
    }
    return order;
}

static void random_coordinate(uint32_t *coordinate, int order, const uint64_t *dims, uint64_t *seed)
{
    for (int n = 0; n < order; n++) {
        uint64_t random = naive_random(seed);
        coordinate[n] = (uint32_t)(random % 4 == 0 ? dims[n] - 1 : random % dims[n]);
    }
}

/* A few nonzeros of random coordinates; duplicates may occur and do not matter here. */
static void random_entries(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t *seed)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, shape, nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        uint32_t coordinate[MAX_ORDER];
        random_coordinate(coordinate, shape->order, shape->dims, seed);
        for (int n = 0; n < shape->order; n++)
            x->index[n][i] = coordinate[n];
        x->value[i] = 1;
    }
}

static void test_bits(void **state)
{
    (void)state;
    const uint64_t dims[] = {UINT64_C(1) << 32, UINT64_C(1) << 32, 2};
    assert_int_equal(ordering_line_bits(SHAPE(2, dims)), 64);
    assert_int_equal(ordering_line_bits(SHAPE(3, dims)), 65);
    assert_int_equal(ordering_bits(1), 0);
    assert_int_equal(ordering_bits(2), 1);
    assert_int_equal(ordering_bits(3), 2);
    assert_int_equal(ordering_bits(4), 2);
    assert_int_equal(ordering_bits(5), 3);
    assert_int_equal(ordering_bits(UINT64_C(1) << 31), 31);
    assert_int_equal(ordering_bits(MAX_LENGTH), 32);
}

/* The BLCO paper's Figure 6: line, and index and base with 5 stored bits. */
static void test_figure_6(void **state)
{
    (void)state;
    static const uint32_t coordinate[12][3] = {{0, 0, 0}, {0, 0, 1}, {0, 2, 2}, {1, 0, 1},
                                               {1, 0, 2}, {2, 0, 1}, {2, 3, 3}, {3, 1, 0},
                                               {3, 1, 1}, {3, 2, 2}, {3, 2, 3}, {3, 3, 3}};
    static const uint64_t lines[12] = {0, 4, 48, 5, 33, 12, 62, 11, 15, 57, 61, 63};
    static const uint64_t indices[12] = {0, 16, 8, 17, 1, 18, 30, 7, 23, 11, 27, 31};
    static const uint64_t dims[3] = {4, 4, 4};
    struct ordering o;
    ordering_create(&o, ORDERING_ALTO, SHAPE(3, dims), 5);
    assert_int_equal(o.line_bits, 6);
    assert_int_equal(o.cut, 5);
    assert_int_equal(o.words, 1);
    for (int i = 0; i < 12; i++) {
        uint64_t line, index;
        uint32_t base[3];
        encode_line(&o, coordinate[i], &line);
        assert_int_equal(line, lines[i]);
        ordering_split(&o, coordinate[i], &index, base);
        assert_int_equal(index, indices[i]);
        assert_int_equal(base[0], 0);
        assert_int_equal(base[1], 0);
        assert_int_equal(base[2], lines[i] >= 32 ? 2 : 0);
    }
}

/* Lengths of 3, 1, 4 and 2 bits. */
static void test_places_alto(void **state)
{
    (void)state;
    static const uint64_t dims[5] = {8, 2, 9, 1, 4};
    static const uint16_t expected[5][4] = {{0, 4, 7}, {1}, {2, 5, 8, 9}, {0}, {3, 6}};
    struct ordering o;
    ordering_create(&o, ORDERING_ALTO, SHAPE(5, dims), 64);
    assert_int_equal(o.line_bits, 10);
    assert_int_equal(o.cut, 10);
    for (int n = 0; n < 5; n++)
        for (int k = 0; k < o.mode_bits[n]; k++)
            assert_int_equal(o.place[n][k], expected[n][k]);
}

/* Mode 0 on top; then, downwards, modes 1 (2), 3 (8), 4 (8: a tie, by number), 2 (9). */
static void test_places_mode(void **state)
{
    (void)state;
    static const uint64_t dims[5] = {5, 2, 9, 8, 8};
    static const uint16_t lowest[5] = {11, 10, 0, 7, 4};
    struct ordering o;
    ordering_create(&o, 0, SHAPE(5, dims), 64);
    assert_int_equal(o.line_bits, 14);
    for (int n = 0; n < 5; n++) {
        for (int k = 0; k < o.mode_bits[n]; k++)
            assert_int_equal(o.place[n][k], lowest[n] + k);
        assert_int_equal(o.field[n].shift, lowest[n]);
        assert_int_equal(o.field[n].word, 0);
    }
    ordering_create(&o, 2, SHAPE(5, dims), 64); /* a mode on top though it is the longest */
    assert_int_equal(o.place[2][0], 10);
    assert_int_equal(o.place[1][0], 9);
    assert_int_equal(o.place[4][0], 0);
}

/* Mode 0 on top and mode 3 lowest; then, downwards, modes 1 (2), 4 (8), 2 (9). */
static void test_places_lowest(void **state)
{
    (void)state;
    static const uint64_t dims[5] = {5, 2, 9, 8, 8};
    static const uint16_t lowest[5] = {11, 10, 3, 0, 7};
    struct ordering o, same;
    ordering_create_lowest(&o, 0, 3, SHAPE(5, dims), 64);
    assert_int_equal(o.kind, 0);
    assert_int_equal(o.tile.modes, 0);
    assert_int_equal(o.cut, 14);
    for (int n = 0; n < 5; n++) {
        for (int k = 0; k < o.mode_bits[n]; k++)
            assert_int_equal(o.place[n][k], lowest[n] + k);
        assert_int_equal(o.field[n].shift, lowest[n]);
    }
    memset(&o, 0, sizeof o);
    memset(&same, 0, sizeof same);
    ordering_create(&o, 0, SHAPE(5, dims), 9);
    ordering_create_lowest(&same, 0, 2, SHAPE(5, dims), 9); /* the longest */
    assert_memory_equal(&same, &o, sizeof o);
}

/* From the top: mode 1's bits that number tiles of 4 rows, mode 0, mode 3 (4), mode 2 (8), and mode
 * 1's two low bits. */
static void test_places_tiled(void **state)
{
    (void)state;
    static const uint64_t dims[4] = {5, 30, 8, 4};
    static const uint16_t expected[4][5] = {{7, 8, 9}, {0, 1, 10, 11, 12}, {2, 3, 4}, {5, 6}};
    const struct tile tile = {.modes = 1, .mode = {1}, .bits = 2};
    struct ordering o;
    assert_true(ordering_create_tiled(&o, 0, &tile, -1, SHAPE(4, dims)));
    assert_int_equal(o.line_bits, 13);
    assert_int_equal(o.cut, 10);
    for (int n = 0; n < 4; n++)
        for (int k = 0; k < o.mode_bits[n]; k++)
            assert_int_equal(o.place[n][k], expected[n][k]);
    uint32_t coordinate[4] = {4, 23, 6, 3}, base[4];
    uint64_t index, line;
    ordering_split(&o, coordinate, &index, base);
    assert_int_equal(base[1], 20);
    assert_int_equal(base[0] | base[2] | base[3], 0);
    assert_int_equal(index >> o.field[1].shift & o.field[1].mask, 3);
    encode_line(&o, coordinate, &line);
    assert_int_equal(line >> o.cut, 5);
}

/* The same with mode 3 lowest of those that are not tiled. */
static void test_places_lowest_in_tiles(void **state)
{
    (void)state;
    static const uint64_t dims[4] = {5, 30, 8, 4};
    static const uint16_t expected[4][5] = {{7, 8, 9}, {0, 1, 10, 11, 12}, {4, 5, 6}, {2, 3}};
    const struct tile tile = {.modes = 1, .mode = {1}, .bits = 2};
    struct ordering o;
    assert_true(ordering_create_tiled(&o, 0, &tile, 3, SHAPE(4, dims)));
    assert_int_equal(o.cut, 10);
    for (int n = 0; n < 4; n++)
        for (int k = 0; k < o.mode_bits[n]; k++)
            assert_int_equal(o.place[n][k], expected[n][k]);
}

/* From the top: the bits that number tiles of 4 rows of modes 1 and 3, mode 0, mode 4, mode 2, and
 * the two low bits of modes 1 and 3. */
static void test_places_two_tiles(void **state)
{
    (void)state;
    static const uint64_t dims[5] = {5, 30, 8, 10, 4};
    static const uint16_t expected[5][5] = {
        {9, 10, 11}, {2, 3, 14, 15, 16}, {4, 5, 6}, {0, 1, 12, 13}, {7, 8}};
    const struct tile tiles = {.modes = 2, .mode = {1, 3}, .bits = 2};
    struct ordering o;
    assert_true(ordering_create_tiled(&o, 0, &tiles, -1, SHAPE(5, dims)));
    assert_int_equal(o.line_bits, 17);
    assert_int_equal(o.cut, 12);
    for (int n = 0; n < 5; n++) {
        assert_int_equal(tile_has(&o.tile, n), n == 1 || n == 3);
        for (int k = 0; k < o.mode_bits[n]; k++)
            assert_int_equal(o.place[n][k], expected[n][k]);
    }
    uint32_t coordinate[5] = {4, 23, 6, 9, 3}, base[5], decoded[5];
    uint64_t index, line;
    ordering_split(&o, coordinate, &index, base);
    assert_int_equal(base[1], 20);
    assert_int_equal(base[3], 8);
    assert_int_equal(index >> o.field[3].shift & o.field[3].mask, 1);
    decode_index(&o, &index, base, decoded);
    assert_memory_equal(decoded, coordinate, sizeof decoded);
    encode_line(&o, coordinate, &line);
    assert_int_equal(line >> o.cut, 5 << 2 | 2);
}

/* In tiles of a cache, the line below the upper bits is that without tiles, whichever mode is
 * lowest.
 */
static void test_places_of_cache_tiles(void **state)
{
    (void)state;
    static const uint64_t dims[4] = {5, 30, 8, 4};
    static const uint16_t expected[2][4][5] = {
        {{7, 8, 9}, {0, 1, 10, 11, 12}, {2, 3, 4}, {5, 6}},  /* the longest is lowest, and tiled */
        {{7, 8, 9}, {2, 3, 10, 11, 12}, {4, 5, 6}, {0, 1}}}; /* mode 3 is lowest */
    static const struct tile tile = {.modes = 1, .mode = {1}, .bits = 2, .in_cache = true};
    for (int way = 0; way < 2; way++) {
        struct ordering o;
        uint32_t coordinate[4] = {4, 23, 6, 3}, base[4], decoded[4];
        uint64_t index, line;
        assert_true(ordering_create_tiled(&o, 0, &tile, way == 0 ? -1 : 3, SHAPE(4, dims)));
        assert_int_equal(o.cut, 10);
        for (int n = 0; n < 4; n++)
            for (int k = 0; k < o.mode_bits[n]; k++)
                assert_int_equal(o.place[n][k], expected[way][n][k]);
        ordering_split(&o, coordinate, &index, base);
        assert_int_equal(base[1], 20);
        decode_index(&o, &index, base, decoded);
        assert_memory_equal(decoded, coordinate, sizeof decoded);
        encode_line(&o, coordinate, &line);
        assert_int_equal(line >> o.cut, 5);
    }
}

/* A mode that fits into one tile has no bits on top; an index of more than a word is refused. */
static void test_tiles_of_short_and_long_modes(void **state)
{
    (void)state;
    static const uint64_t short_mode[3] = {5, 4, 8};
    static const uint64_t wide[4] = {UINT64_C(1) << 30, UINT64_C(1) << 30, 1024, 4};
    const struct tile four = {.modes = 1, .mode = {1}, .bits = 2},
                      more = {.modes = 1, .mode = {1}, .bits = 20},
                      short_one = {.modes = 1, .mode = {2}, .bits = 9};
    struct ordering o;
    assert_true(ordering_create_tiled(&o, 0, &four, -1, SHAPE(3, short_mode)));
    assert_int_equal(o.cut, o.line_bits);
    assert_true(ordering_create_tiled(&o, 0, &more, -1, SHAPE(3, short_mode)));
    assert_int_equal(o.cut, o.line_bits);
    assert_true(ordering_create_tiled(&o, 0, &more, -1, SHAPE(4, wide)));
    assert_false(ordering_create_tiled(&o, 0, &short_one, -1, SHAPE(4, wide)));
}

static void check_bijection(const struct ordering *o)
{
    bool taken[MAX_LINE_BITS] = {false};
    int bits = 0;
    for (int n = 0; n < o->order; n++)
        for (int k = 0; k < o->mode_bits[n]; k++, bits++) {
            assert_in_range(o->place[n][k], 0, o->line_bits - 1);
            assert_false(taken[o->place[n][k]]);
            taken[o->place[n][k]] = true;
            assert_true(k == 0 || o->place[n][k] > o->place[n][k - 1]);
        }
    assert_int_equal(bits, o->line_bits);
}

/* Fields do not overlap, lie within their word, hold exactly the bits below the cut, and stand in
 * each word without gaps in the order of the modes' lowest line bits. */
static void check_fields(const struct ordering *o, int index_bits)
{
    assert_true(o->cut <= index_bits && o->cut <= o->line_bits && o->cut <= 64 * o->words);
    int stored[2] = {0}, total = 0;
    for (int place = 0; place < o->cut; place++)
        for (int n = 0; n < o->order; n++) {
            if (o->mode_bits[n] == 0 || o->place[n][0] != place)
                continue;
            int bits = 0;
            while (bits < o->mode_bits[n] && o->place[n][bits] < o->cut)
                bits++;
            int w = o->field[n].word;
            assert_in_range(w, 0, o->words - 1);
            assert_int_equal(o->field[n].shift, stored[w]);
            assert_int_equal(o->field[n].mask, (UINT64_C(1) << bits) - 1);
            stored[w] += bits;
            total += bits;
        }
    assert_int_equal(total, o->cut);
    assert_true(stored[0] <= 64 && stored[1] <= 64);
}

/* Can the stored bits below `cut` be dealt to two words? By trying every subset. */
static bool fits_two_words(const struct ordering *o, int cut)
{
    int bits[MAX_ORDER] = {0};
    for (int n = 0; n < o->order; n++)
        for (int k = 0; k < o->mode_bits[n]; k++)
            bits[n] += o->place[n][k] < cut;
    for (unsigned subset = 0; subset < 1U << o->order; subset++) {
        int sum[2] = {0};
        for (int n = 0; n < o->order; n++)
            sum[subset >> n & 1] += bits[n];
        if (sum[0] <= 64 && sum[1] <= 64)
            return true;
    }
    return false;
}

static void test_layout_of_random_shapes(void **state)
{
    (void)state;
    uint64_t seed = 3, dims[MAX_ORDER];
    for (int trial = 0; trial < 60; trial++) {
        int order = random_shape(dims, &seed);
        for (int kind = ORDERING_ALTO; kind < order; kind++)
            for (int c = 0; c < CUTS; c++) {
                struct ordering o;
                ordering_create(&o, kind, SHAPE(order, dims), cuts[c]);
                check_bijection(&o);
                check_fields(&o, cuts[c]);
                int wanted = cuts[c] < o.line_bits ? cuts[c] : o.line_bits;
                assert_int_equal(o.words, wanted > 64 ? 2 : 1);
                if (o.words == 1)
                    assert_int_equal(o.cut, wanted);
                if (o.cut < wanted) /* no lower than it must be */
                    assert_false(fits_two_words(&o, o.cut + 1));
            }
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 4, dims[MAX_ORDER];
    for (int trial = 0; trial < 300; trial++) {
        int order = random_shape(dims, &seed);
        int kind = (int)(naive_random(&seed) % (uint64_t)(order + 1)) - 1;
        struct ordering o;
        ordering_create(&o, kind, SHAPE(order, dims), cuts[trial % CUTS]);
        for (int i = 0; i < 20; i++) {
            uint32_t coordinate[MAX_ORDER], base[MAX_ORDER], decoded[MAX_ORDER];
            uint64_t index[2] = {0};
            random_coordinate(coordinate, order, dims, &seed);
            ordering_split(&o, coordinate, index, base);
            decode_index(&o, index, base, decoded);
            assert_memory_equal(decoded, coordinate, (size_t)order * sizeof *coordinate);
        }
    }
}

/* All words of all lines equal those of encode_line, in file order and by position. */
static void check_line_words(const struct ordering *o, const struct coo *x, uint64_t *seed)
{
    struct error error = {0};
    uint64_t line[MAX_LINE_WORDS];
    uint64_t *key = malloc(x->nnz * sizeof *key), *position = malloc(x->nnz * sizeof *position);
    struct line_encoder encoder;
    assert_int_equal(line_encoder_create(&encoder, o, &error), STATUS_OK);
    for (uint64_t i = 0; i < x->nnz; i++)
        position[i] = naive_random(seed) % x->nnz;
    for (int word = 0; 64 * word < o->line_bits; word++) {
        for (int by_position = 0; by_position <= 1; by_position++) {
            assert_int_equal(
                ordering_line_words(o, x, word, by_position ? position : NULL, key, &error),
                STATUS_OK);
            for (uint64_t i = 0; i < x->nnz; i++) {
                uint32_t coordinate[MAX_ORDER];
                for (int n = 0; n < x->shape.order; n++)
                    coordinate[n] = x->index[n][by_position ? position[i] : i];
                encode_line(o, coordinate, line);
                assert_int_equal(key[i], line[word]);
            }
        }
        ordering_line_words(o, x, word, NULL, key, &error);
        for (uint64_t from = 0; from < x->nnz; from += 7) {
            uint64_t some[7], count = x->nnz - from < 7 ? x->nnz - from : 7;
            line_encoder_words(&encoder, x, word, from, count, some);
            assert_memory_equal(some, key + from, count * sizeof *some);
        }
    }
    line_encoder_free(&encoder);
    free(key);
    free(position);
}

static void test_line_words(void **state)
{
    (void)state;
    uint64_t seed = 5, dims[MAX_ORDER];
    for (int trial = 0; trial < 25; trial++) {
        int order = random_shape(dims, &seed);
        struct coo x;
        random_entries(&x, SHAPE(order, dims), trial == 0 ? 5000 : 50, &seed);
        for (int kind = ORDERING_ALTO; kind < order; kind++) {
            struct ordering o;
            ordering_create(&o, kind, SHAPE(order, dims), 64);
            check_line_words(&o, &x, &seed);
        }
        coo_free(&x);
    }
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const uint64_t dims[2] = {100, 100};
    uint64_t seed = 6, key[10];
    struct coo x;
    random_entries(&x, SHAPE(2, dims), 10, &seed);
    struct ordering o;
    ordering_create(&o, ORDERING_ALTO, SHAPE(2, dims), 64);
    int failures = 0;
    for (long k = 0;; k++) {
        struct error error = {0};
        memory_hook_set(k);
        enum status status = ordering_line_words(&o, &x, 0, NULL, key, &error);
        int fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        if (!fired)
            break;
        failures++;
    }
    assert_true(failures > 0);
    coo_free(&x);
}

/* As the numbers that their lines are say, for coordinates that differ much, little or not. */
static void test_precedes(void **state)
{
    (void)state;
    uint64_t seed = 5, dims[MAX_ORDER];
    int met[3] = {0};
    for (int i = 0; i < 3000; i++) {
        int order = random_shape(dims, &seed), kind = i % (order + 1) - 1;
        uint32_t a[MAX_ORDER], b[MAX_ORDER];
        uint64_t line[2][MAX_LINE_WORDS] = {{0}};
        struct ordering o;
        ordering_create(&o, kind, SHAPE(order, dims), 128);
        random_coordinate(a, order, dims, &seed);
        random_coordinate(b, order, dims, &seed);
        for (int n = 0; n < order && i % 3 > 0; n++) /* all but at most one are equal */
            b[n] = i % 3 == 2 && n == i % order ? b[n] : a[n];
        encode_line(&o, a, line[0]);
        encode_line(&o, b, line[1]);
        int sign = 0;
        for (int word = MAX_LINE_WORDS - 1; word >= 0 && sign == 0; word--)
            sign = (line[0][word] > line[1][word]) - (line[0][word] < line[1][word]);
        assert_int_equal(ordering_precedes(&o, a, b), sign < 0);
        assert_int_equal(ordering_precedes(&o, b, a), sign > 0);
        met[sign + 1]++;
    }
    assert_true(met[0] > 500 && met[1] > 500 && met[2] > 500);
}

/* ---  --- */

#define TRIALS 300

/* Lengths of 1 to 2^most_bits, a third of them the same as an earlier mode's. */
static struct shape random_moves_shape(uint64_t *seed, int most_order, int most_bits)
{
    struct shape s = {.order = 1 + (int)(naive_random(seed) % (uint64_t)most_order)};
    for (int n = 0; n < s.order; n++) {
        uint64_t most = UINT64_C(1) << naive_random(seed) % (uint64_t)(most_bits + 1);
        s.dims[n] = 1 + naive_random(seed) % (most < MAX_LENGTH ? most : MAX_LENGTH);
        if (n > 0 && naive_random(seed) % 3 == 0)
            s.dims[n] = s.dims[naive_random(seed) % (uint64_t)n];
    }
    return s;
}

static void random_place(uint64_t *seed, const struct shape *s, uint32_t *coordinate)
{
    for (int n = 0; n < s->order; n++)
        coordinate[n] = (uint32_t)(naive_random(seed) % s->dims[n]);
}

static uint64_t apply(const struct bit_moves *m, const uint64_t *input)
{
    uint64_t word = 0;
    for (int i = 0; i < m->count; i++)
        word |= bit_move_apply(m->move[i], input[m->move[i].from]);
    return word;
}

/* Every word that the moves build is the one that ordering.c builds. */
static void check_words(const struct ordering *from, const struct ordering *o,
                        enum ordering_target layout, const uint64_t *input,
                        const uint64_t *expected, int words)
{
    for (int w = 0; w < words; w++) {
        struct bit_moves m;
        ordering_moves_create(&m, from, o, layout, w);
        assert_in_range(m.count, 0, BIT_MOVES_MAX);
        for (int i = 1; i < m.count; i++)
            assert_true(m.move[i].from >= m.move[i - 1].from);
        assert_int_equal(apply(&m, input), expected[w]);
    }
}

static void check_ordering(uint64_t *seed, const struct shape *s, const struct ordering *o)
{
    struct ordering common;
    ordering_common(&common, s);
    for (int i = 0; i < 5; i++) {
        uint32_t coordinate[MAX_ORDER], base[MAX_ORDER], expected_base[MAX_ORDER];
        uint64_t line[MAX_LINE_WORDS], index[2], common_line[MAX_LINE_WORDS] = {0};
        uint64_t input[MAX_ORDER];
        random_place(seed, s, coordinate);
        for (int n = 0; n < s->order; n++)
            input[n] = coordinate[n];
        encode_line(o, coordinate, line);
        encode_line(&common, coordinate, common_line);
        ordering_split(o, coordinate, index, expected_base);

        check_words(NULL, o, ORDERING_LINE, input, line, (o->line_bits + 63) / 64);
        check_words(NULL, o, ORDERING_INDEX, input, index, o->words);
        ordering_base(o, line, base);
        assert_memory_equal(base, expected_base, (size_t)s->order * sizeof *base);
        if (o->line_bits > 64)
            continue;
        check_words(&common, o, ORDERING_LINE, common_line, line, (o->line_bits + 63) / 64);
        check_words(&common, o, ORDERING_INDEX, common_line, index, o->words);
        check_words(o, o, ORDERING_INDEX, line, index, o->words);
    }
}

static void test_moves_build_lines_and_indices(void **state)
{
    (void)state;
    static const int index_bits[] = {1, 5, 33, 64, 100, 128};
    uint64_t seed = 1;
    for (int i = 0; i < TRIALS; i++) {
        struct shape s = random_moves_shape(&seed, i % 2 ? 4 : MAX_ORDER, i % 3 ? 32 : 20);
        for (int kind = ORDERING_ALTO; kind < s.order; kind++) {
            struct ordering o;
            ordering_create(&o, kind, &s, index_bits[i % 6]);
            check_ordering(&seed, &s, &o);
        }
    }
}

static void test_all_bits_of_full_modes(void **state)
{
    (void)state;
    struct shape s = {2, {MAX_LENGTH, MAX_LENGTH}};
    uint32_t coordinate[2] = {MAX_LENGTH - 1, MAX_LENGTH - 2};
    uint64_t input[2] = {coordinate[0], coordinate[1]};
    for (int kind = ORDERING_ALTO; kind < 2; kind++) {
        struct ordering o;
        uint64_t line[1];
        ordering_create(&o, kind, &s, 64);
        encode_line(&o, coordinate, line);
        check_words(NULL, &o, ORDERING_LINE, input, line, 1);
    }
}

/* `mode n` needs few moves: one for each set of bits that stay together. */
static void test_few_moves_for_a_mode(void **state)
{
    (void)state;
    uint64_t dims[4] = {6066, 5699, 244268, 1176};
    struct ordering common;
    ordering_common(&common, SHAPE(4, dims));
    for (int n = 0; n < 4; n++) {
        struct ordering o;
        struct bit_moves m;
        ordering_create(&o, n, SHAPE(4, dims), 64);
        ordering_moves_create(&m, NULL, &o, ORDERING_LINE, 0);
        assert_int_equal(m.count, 4);
        ordering_moves_create(&m, &common, &o, ORDERING_LINE, 0);
        assert_in_range(m.count, 1, 3);
        ordering_moves_create(&m, &o, &o, ORDERING_INDEX, 0);
        assert_true(ordering_moves_identity(&m, o.line_bits));
    }
}

static void test_identity(void **state)
{
    (void)state;
    struct bit_moves none = {0}, shifted = {1, {{0xff, 1, 0}}}, narrow = {1, {{0xff, 0, 0}}};
    assert_true(ordering_moves_identity(&none, 0));
    assert_false(ordering_moves_identity(&none, 3));
    assert_false(ordering_moves_identity(&shifted, 8));
    assert_true(ordering_moves_identity(&narrow, 8));
    assert_false(ordering_moves_identity(&narrow, 9));
    struct bit_moves whole = {1, {{UINT64_MAX, 0, 0}}};
    assert_true(ordering_moves_identity(&whole, 64));
}

static int compare_lines(const struct ordering *o, const uint32_t *a, const uint32_t *b, int from)
{
    uint64_t x[MAX_LINE_WORDS], y[MAX_LINE_WORDS];
    encode_line(o, a, x);
    encode_line(o, b, y);
    for (int bit = o->line_bits - 1; bit >= from; bit--) {
        int p = (int)(x[bit / 64] >> (bit % 64)) & 1, q = (int)(y[bit / 64] >> (bit % 64)) & 1;
        if (p != q)
            return p - q;
    }
    return 0;
}

static void test_sorted_bits_of_every_mode(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < TRIALS; i++) {
        struct shape s = random_moves_shape(&seed, MAX_ORDER, 31);
        struct ordering common, o;
        ordering_common(&common, &s);
        for (int n = 0; n < s.order; n++) {
            ordering_create(&o, n, &s, 64);
            int sorted = ordering_sorted_bits(&common, &o);
            assert_in_range(sorted, o.line_bits - o.mode_bits[n], o.line_bits);
            if (n == common.kind)
                assert_int_equal(sorted, o.line_bits);
        }
    }
}

/* Nonzeros that agree in the bits that are sorted by come in the same order on both lines. */
static void test_sorted_bits_need_no_sorting(void **state)
{
    (void)state;
    uint64_t seed = 3;
    int agreed = 0;
    for (int i = 0; i < 20 * TRIALS; i++) {
        struct shape s = random_moves_shape(&seed, 5, 4);
        int from_kind = (int)(naive_random(&seed) % (uint64_t)(s.order + 1)) - 1;
        int to_kind = (int)(naive_random(&seed) % (uint64_t)(s.order + 1)) - 1;
        struct ordering from, to;
        ordering_create(&from, from_kind, &s, 64);
        ordering_create(&to, to_kind, &s, 64);
        int sorted = ordering_sorted_bits(&from, &to);
        for (int j = 0; j < 20; j++) {
            uint32_t a[MAX_ORDER], b[MAX_ORDER];
            random_place(&seed, &s, a);
            random_place(&seed, &s, b);
            if (compare_lines(&to, a, b, sorted) != 0)
                continue;
            assert_int_equal(compare_lines(&from, a, b, 0), compare_lines(&to, a, b, 0));
            agreed += compare_lines(&to, a, b, 0) != 0;
        }
    }
    assert_in_range(agreed, 1000, INT32_MAX);
}

/* --- Which rows the lines between two lines can have, against all of these lines one by one. ---
 */

#define MOST_LINES 512

static void check_range(struct row_range got, struct row_range expected)
{
    if (got.first != expected.first || got.last != expected.last)
        fail_msg("rows %u to %u, expected %u to %u", got.first, got.last, expected.first,
                 expected.last);
}

/* row[l] = the row of line l. Lengths are powers of two, so every line belongs to coordinates. */
static void fill_rows(const struct ordering *o, const uint64_t *dims, int mode, uint32_t *row)
{
    uint32_t c[MAX_ORDER] = {0};
    for (uint64_t i = 0; i < UINT64_C(1) << o->line_bits; i++) {
        uint64_t line, rest = i;
        for (int n = 0; n < o->order; n++, rest /= dims[n - 1])
            c[n] = (uint32_t)(rest % dims[n]);
        encode_line(o, c, &line);
        row[line] = c[mode];
    }
}

static void check_all_ranges(const struct ordering *o, const uint64_t *dims, int mode)
{
    uint32_t row[MOST_LINES];
    fill_rows(o, dims, mode, row);
    for (uint64_t from = 0; from < UINT64_C(1) << o->line_bits; from++) {
        struct row_range expected = {row[from], row[from]};
        for (uint64_t to = from; to < UINT64_C(1) << o->line_bits; to++) {
            expected.first = row[to] < expected.first ? row[to] : expected.first;
            expected.last = row[to] > expected.last ? row[to] : expected.last;
            check_range(row_range_of_lines(o, mode, &from, &to), expected);
        }
    }
}

static void test_all_ranges(void **state)
{
    (void)state;
    static const uint64_t dims[][4] = {{64, 1, 1, 1}, {8, 8, 8, 1}, {2, 32, 4, 1},
                                       {1, 4, 4, 8},  {4, 4, 4, 4}, {128, 2, 1, 2}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (int kind = ORDERING_ALTO; kind < 4; kind++) {
            struct ordering o;
            ordering_create(&o, kind, SHAPE(4, dims[i]), 64);
            assert_true(o.line_bits <= 9);
            for (int mode = 0; mode < 4; mode++)
                check_all_ranges(&o, dims[i], mode);
        }
}

static bool is_less(const uint64_t *a, const uint64_t *b, int words)
{
    for (int w = words - 1; w > 0; w--)
        if (a[w] != b[w])
            return a[w] < b[w];
    return a[0] < b[0];
}

/* Lines of many words: the range holds the rows of both ends and of a line between them. */
static void test_long_lines(void **state)
{
    (void)state;
    uint64_t seed = 1, dims[MAX_ORDER], met = 0;
    for (int i = 0; i < 3000; i++) {
        int order = 1 + i % MAX_ORDER, words;
        struct ordering o;
        uint32_t c[3][MAX_ORDER];
        uint64_t line[3][MAX_LINE_WORDS] = {{0}};
        random_lengths(&seed, order, 10 + i % 200, dims);
        ordering_create(&o, i % 3 ? ORDERING_ALTO : i % order, SHAPE(order, dims), 64);
        words = (o.line_bits + 63) / 64;
        words = words ? words : 1;
        for (int k = 0; k < 3; k++) {
            for (int n = 0; n < order; n++) /* mostly near each other */
                c[k][n] = k == 0 || naive_random(&seed) % 3 == 0
                              ? (uint32_t)(naive_random(&seed) % dims[n])
                              : c[0][n];
            encode_line(&o, c[k], line[k]);
        }
        bool swapped = is_less(line[1], line[0], words);
        const uint64_t *from = line[swapped], *to = line[!swapped];
        bool between = !is_less(line[2], from, words) && !is_less(to, line[2], words);
        met += between;
        for (int n = 0; n < order; n++) {
            struct row_range r = row_range_of_lines(&o, n, from, to);
            for (int k = 0; k < 3 - !between; k++)
                assert_true(r.first <= c[k][n] && c[k][n] <= r.last);
            check_range(row_range_of_lines(&o, n, line[0], line[0]),
                        (struct row_range){c[0][n], c[0][n]});
        }
    }
    assert_true(met > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_figure_6),
        cmocka_unit_test(test_places_alto),
        cmocka_unit_test(test_places_mode),
        cmocka_unit_test(test_places_lowest),
        cmocka_unit_test(test_places_tiled),
        cmocka_unit_test(test_places_lowest_in_tiles),
        cmocka_unit_test(test_places_two_tiles),
        cmocka_unit_test(test_places_of_cache_tiles),
        cmocka_unit_test(test_tiles_of_short_and_long_modes),
        cmocka_unit_test(test_layout_of_random_shapes),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_line_words),
        cmocka_unit_test(test_precedes),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_moves_build_lines_and_indices),
        cmocka_unit_test(test_all_bits_of_full_modes),
        cmocka_unit_test(test_few_moves_for_a_mode),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_sorted_bits_of_every_mode),
        cmocka_unit_test(test_sorted_bits_need_no_sorting),
        cmocka_unit_test(test_all_ranges),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
