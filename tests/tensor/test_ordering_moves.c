#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/naive.h"
#include "tensor/ordering_moves.h"

#define TRIALS 300

/* Lengths of 1 to 2^most_bits, a third of them the same as an earlier mode's. */
static struct shape random_shape(uint64_t *seed, int most_order, int most_bits)
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

static void random_coordinate(uint64_t *seed, const struct shape *s, uint32_t *coordinate)
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
        random_coordinate(seed, s, coordinate);
        for (int n = 0; n < s->order; n++)
            input[n] = coordinate[n];
        ordering_encode(o, coordinate, line);
        ordering_encode(&common, coordinate, common_line);
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
        struct shape s = random_shape(&seed, i % 2 ? 4 : MAX_ORDER, i % 3 ? 32 : 20);
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
        ordering_encode(&o, coordinate, line);
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
    ordering_encode(o, a, x);
    ordering_encode(o, b, y);
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
        struct shape s = random_shape(&seed, MAX_ORDER, 31);
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
        struct shape s = random_shape(&seed, 5, 4);
        int from_kind = (int)(naive_random(&seed) % (uint64_t)(s.order + 1)) - 1;
        int to_kind = (int)(naive_random(&seed) % (uint64_t)(s.order + 1)) - 1;
        struct ordering from, to;
        ordering_create(&from, from_kind, &s, 64);
        ordering_create(&to, to_kind, &s, 64);
        int sorted = ordering_sorted_bits(&from, &to);
        for (int j = 0; j < 20; j++) {
            uint32_t a[MAX_ORDER], b[MAX_ORDER];
            random_coordinate(&seed, &s, a);
            random_coordinate(&seed, &s, b);
            if (compare_lines(&to, a, b, sorted) != 0)
                continue;
            assert_int_equal(compare_lines(&from, a, b, 0), compare_lines(&to, a, b, 0));
            agreed += compare_lines(&to, a, b, 0) != 0;
        }
    }
    assert_in_range(agreed, 1000, INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_build_lines_and_indices),
        cmocka_unit_test(test_all_bits_of_full_modes),
        cmocka_unit_test(test_few_moves_for_a_mode),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_sorted_bits_of_every_mode),
        cmocka_unit_test(test_sorted_bits_need_no_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
