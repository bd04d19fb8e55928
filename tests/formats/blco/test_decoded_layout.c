/* The words that packed nonzeros are decoded to on the device: where the coordinates are, how they
 * are made from lines, and which coordinates are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "formats/blco/decoded_layout.h"
#include "numerics/packed_group.h"
#include "support/lines.h"
#include "support/packed_tensors.h"
#include "tensor/ordering.h"

#define SHAPES 150

/* The words that these coordinates must give, nothing else in them. */
static void expected_words(const struct packed_layout *l, const uint32_t *coordinate,
                           uint64_t *word)
{
    word[0] = word[1] = 0;
    for (int n = 0; n < l->order; n++) {
        assert_int_equal(coordinate[n] & ~l->mode[n].mask, 0);
        word[l->mode[n].word] |= (uint64_t)coordinate[n] << l->mode[n].shift;
    }
}

static void test_layouts(void **state)
{
    (void)state;
    struct packed_layout l;
    const uint64_t one_word[] = {UINT64_C(1) << 31, 1, MAX_LENGTH, 2};
    assert_true(decoded_layout_create(&l, SHAPE(4, one_word)));
    assert_int_equal(l.words, 1);
    assert_int_equal(l.line_bits, 64);
    assert_int_equal(l.stride, sizeof(struct packed_group) + 8);
    assert_int_equal(l.mode[1].mask, 0);
    assert_int_equal(l.mode[1].shift, 0);
    assert_int_equal(l.mode[2].mask, UINT32_MAX);

    const uint64_t four[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 1};
    assert_true(decoded_layout_create(&l, SHAPE(5, four)));
    assert_int_equal(l.words, 2);
    assert_int_equal(l.line_bits, 128);
    assert_int_equal(l.stride, sizeof(struct packed_group) + 16);
    uint64_t used[2] = {0, 0};
    for (int n = 0; n < 4; n++) {
        uint64_t place = (uint64_t)l.mode[n].mask << l.mode[n].shift;
        assert_int_equal(used[l.mode[n].word] & place, 0);
        used[l.mode[n].word] |= place;
    }
    assert_true(used[0] == UINT64_MAX && used[1] == UINT64_MAX);

    /* 125 bits, of which a word holds only 50; 129 bits */
    const uint64_t unlucky[] = {1 << 25, 1 << 25, 1 << 25, 1 << 25, 1 << 25};
    assert_false(decoded_layout_create(&l, SHAPE(5, unlucky)));
    const uint64_t too_many[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 2};
    assert_false(decoded_layout_create(&l, SHAPE(5, too_many)));
}

/* Lines of a kind of ordering, of random coordinates and of the least and the largest ones. */
static void check_spread(const struct packed_layout *l, int kind, const uint64_t *dims,
                         uint64_t *seed)
{
    struct packed_spread spread;
    struct ordering o;
    decoded_layout_spread(&spread, l, kind, SHAPE(l->order, dims));
    ordering_create(&o, kind, SHAPE(l->order, dims), 64);
    for (int i = 0; i < 40; i++) {
        uint32_t coordinate[MAX_ORDER];
        uint64_t line[PACKED_WORDS] = {0, 0}, word[PACKED_WORDS], expected[PACKED_WORDS];
        for (int n = 0; n < l->order; n++) {
            uint64_t c = i == 0 ? 0 : i == 1 ? dims[n] - 1 : naive_random(seed) % dims[n];
            coordinate[n] = (uint32_t)c;
        }
        encode_line(&o, coordinate, line);
        naive_spread(&spread, l->line_bits, (uint128)line[1] << 64 | line[0], word);
        expected_words(l, coordinate, expected);
        assert_memory_equal(word, expected, sizeof word);
    }
    for (int k = (l->line_bits + 3) / 4; k < PACKED_NIBBLES; k++)
        for (int v = 0; v < 16; v++)
            assert_true(spread.nibble[k][v][0] == 0 && spread.nibble[k][v][1] == 0);
}

static void test_lines_become_words(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int words[3] = {0};
    for (int i = 0; i < SHAPES; i++) {
        struct packed_layout layout;
        uint64_t dims[MAX_ORDER];
        int order = i % MAX_ORDER + 1;
        random_lengths(&seed, order, i == 0 ? 0 : (int)(naive_random(&seed) % 129), dims);
        if (!decoded_layout_create(&layout, SHAPE(order, dims)))
            continue;
        for (int kind = ORDERING_ALTO; kind < order; kind++)
            check_spread(&layout, kind, dims, &seed);
        words[layout.words]++;
    }
    assert_true(words[1] > 30 && words[2] > 30);
}

/* From lines of alto order to those in which tensors are built. */
static void test_lines_become_other_lines(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < SHAPES; i++) {
        struct packed_layout layout;
        struct packed_spread spread;
        struct ordering alto, common;
        uint64_t dims[MAX_ORDER];
        int order = i % MAX_ORDER + 1;
        random_lengths(&seed, order, i == 0 ? 0 : (int)(naive_random(&seed) % 65), dims);
        ordering_common(&common, SHAPE(order, dims));
        ordering_create(&alto, ORDERING_ALTO, SHAPE(order, dims), 64);
        if (common.line_bits > 64)
            continue;
        decoded_layout_of_line(&layout, &common, SHAPE(order, dims));
        decoded_layout_spread(&spread, &layout, ORDERING_ALTO, SHAPE(order, dims));
        assert_int_equal(layout.words, 1);
        assert_int_equal(layout.stride, blco_group_stride(alto.line_bits));
        for (int k = 0; k < 40; k++) {
            uint32_t coordinate[MAX_ORDER];
            uint64_t line[1] = {0}, expected[PACKED_WORDS] = {0, 0}, word[PACKED_WORDS];
            for (int n = 0; n < order; n++)
                coordinate[n] = (uint32_t)(naive_random(&seed) % dims[n]);
            encode_line(&alto, coordinate, line);
            encode_line(&common, coordinate, expected);
            naive_spread(&spread, layout.line_bits, line[0], word);
            assert_memory_equal(word, expected, sizeof word);
            assert_int_equal(packed_mode_beyond(&layout, word), 0);
        }
    }
}

/* Every set of modes beyond, at the length itself, at most, and between. */
static void check_limits(const struct packed_layout *l, uint64_t *seed, int *beyond)
{
    struct packed_bounds limits;
    packed_bounds_create(&limits, l);
    for (int i = 0; i < 200; i++) {
        uint32_t coordinate[MAX_ORDER];
        uint64_t word[PACKED_WORDS];
        int first = 0;
        for (int n = l->order - 1; n >= 0; n--) {
            uint32_t length = l->mode[n].length, lacking = l->mode[n].mask - (length - 1);
            bool is_beyond = lacking > 0 && naive_random(seed) % 8 == 0;
            uint64_t range = is_beyond ? lacking : length, draw = naive_random(seed) % 4;
            uint64_t c = draw == 0 ? 0 : draw == 1 ? range - 1 : naive_random(seed) % range;
            coordinate[n] = (uint32_t)(is_beyond ? length + c : c);
            first = is_beyond ? n + 1 : first;
        }
        expected_words(l, coordinate, word);
        bool any = packed_beyond(&limits, 0, word[0]) || packed_beyond(&limits, 1, word[1]);
        assert_int_equal(any, first > 0);
        assert_int_equal(packed_mode_beyond(l, word), first);
        *beyond += any;
    }
}

static void test_coordinates_beyond_their_mode(void **state)
{
    (void)state;
    static const uint64_t full[] = {MAX_LENGTH, (UINT64_C(1) << 31) + 1};
    struct packed_layout layout;
    uint64_t seed = 2;
    int beyond = 0;
    assert_true(
        decoded_layout_create(&layout, SHAPE(2, full))); /* up to the uppermost bit of the word */
    check_limits(&layout, &seed, &beyond);
    assert_true(beyond > 0);
    for (int i = 0; i < SHAPES; i++) {
        uint64_t dims[MAX_ORDER];
        int order = i % MAX_ORDER + 1;
        random_lengths(&seed, order, (int)(naive_random(&seed) % 129), dims);
        if (decoded_layout_create(&layout, SHAPE(order, dims)))
            check_limits(&layout, &seed, &beyond);
    }
    assert_true(beyond > 5000);
}

/* What was met, so that a test does not miss the cases that it is there for. */
struct met {
    int form[PACKED_FORMS], words[3], decimals, wide_low, full_group, single_nonzero;
};

static void check_group(const struct naive_group *g, const struct packed_layout *l,
                        const struct coo *x, uint64_t first, struct met *met)
{
    for (uint32_t i = 0; i < g->head.count; i++) {
        uint64_t at = first + g->head.first + i, expected[PACKED_WORDS];
        uint32_t coordinate[MAX_ORDER];
        for (int n = 0; n < x->shape.order; n++)
            coordinate[n] = x->index[n][at];
        expected_words(l, coordinate, expected);
        assert_memory_equal(g->word[i], expected, sizeof expected);
        assert_memory_equal(&g->value[i], &x->value[at], sizeof g->value[i]);
    }
    met->form[g->head.value_form]++;
    met->decimals += g->head.decimals > 0;
    met->wide_low += g->head.low_bits > 64;
    met->full_group += g->head.count == PACKED_GROUP_NNZ;
    met->single_nonzero += g->head.count == 1;
}

/* A whole tensor by its definition and by segment_unpack. */
static void check_packed(const struct packed_layout *l, const struct packed_tensor *p,
                         struct met *met)
{
    struct packed_spread spread;
    struct naive_group group;
    struct coo x;
    decoded_layout_spread(&spread, l, p->kind, &p->shape);
    unpack_all(p, &x);
    for (uint64_t s = 0; s < p->nsegments; s++)
        for (uint32_t k = 0; k < p->segment[s].ngroups; k++) {
            naive_unpack(l, &spread, p->bytes + p->segment[s].offset, k, &group);
            check_group(&group, l, &x, s * p->segment_nnz, met);
        }
    met->words[l->words]++;
    coo_free(&x);
}

static void test_groups_decoded_by_their_definition(void **state)
{
    (void)state;
    static const int bits[] = {0, 12, 30, 50, 64, 66, 90, 120};
    static const uint64_t segments[] = {1, 7, 1000, 65536};
    struct met met = {0};
    uint64_t seed = 1;
    for (int i = 0; i < SHAPES; i++) {
        struct error error = {0};
        struct packed_layout layout;
        struct packed_tensor p;
        struct coo x;
        uint64_t nnz = 1 + naive_random(&seed) % 4000;
        int line_bits = bits[naive_random(&seed) % 8];
        if (!packable_coo(&x, &layout, &seed, i, line_bits, nnz))
            continue;
        int kind = (int)(naive_random(&seed) % (uint64_t)(x.shape.order + 1)) - 1;
        assert_int_equal(packed_tensor_build(&p, &x, kind, segments[i % 4], NULL, &error),
                         STATUS_OK);
        check_packed(&layout, &p, &met);
        packed_tensor_free(&p);
        coo_free(&x);
    }
    for (int f = 0; f < PACKED_FORMS; f++)
        assert_true(met.form[f] > 0);
    assert_true(met.words[1] > 20 && met.words[2] > 20 && met.decimals > 20);
    assert_true(met.wide_low > 20 && met.full_group > 20 && met.single_nonzero > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_lines_become_words),
        cmocka_unit_test(test_lines_become_other_lines),
        cmocka_unit_test(test_coordinates_beyond_their_mode),
        cmocka_unit_test(test_groups_decoded_by_their_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
