/* Packed nonzeros decoded one at a time, as the kernel does it, against blco_unpack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "packed_tensors.h"
#include "stream_layout.h"

#define SHAPES 120

/* What was met, so that a test does not miss the cases that it is there for. */
struct met {
    int index_bytes[9], value_form[VALUES_FORMS], words[3], several_blocks;
};

/* The words that these coordinates must give, nothing else in them. */
static void expected_words(const struct packed_layout *l, const struct coo *x, uint64_t i,
                           uint64_t *word)
{
    word[0] = word[1] = 0;
    for (int n = 0; n < x->order; n++) {
        assert_int_equal(x->index[n][i] & ~l->mode[n].mask, 0);
        word[l->mode[n].word] |= (uint64_t)x->index[n][i] << l->mode[n].shift;
    }
}

static void check_block(const struct packed_layout *l, const uint8_t *segment, const uint8_t *entry,
                        const struct coo *x, uint64_t first, struct met *met)
{
    struct packed_block b;
    memcpy(&b, entry, sizeof b);
    for (uint32_t i = 0; i < b.count; i++) {
        uint64_t word[PACKED_WORDS], expected[PACKED_WORDS];
        uint64_t at = first + b.first + i;
        assert_int_equal(packed_coordinates(l, entry, packed_index(segment, b, i), word), 0);
        expected_words(l, x, at, expected);
        assert_memory_equal(word, expected, sizeof word);
        double value = packed_value(segment, b, i);
        assert_memory_equal(&value, &x->value[at], sizeof value);
    }
    met->index_bytes[b.index_bytes]++;
    met->value_form[b.value_form]++;
}

static void check_packed(const struct packed_layout *l, const struct packed *p, struct met *met)
{
    struct coo x;
    unpack_all(p, &x);
    for (uint64_t s = 0; s < p->nsegments; s++) {
        const uint8_t *segment = p->bytes + p->segment[s].offset;
        for (uint32_t k = 0; k < p->segment[s].nblocks; k++)
            check_block(l, segment, segment + k * l->stride, &x, s * p->segment_nnz, met);
        met->several_blocks += p->segment[s].nblocks > 1;
    }
    met->words[l->words]++;
    coo_free(&x);
}

static void test_decoded_as_on_the_host(void **state)
{
    (void)state;
    static const int bits[] = {0, 12, 30, 50, 64, 66, 90, 120};
    static const uint64_t segments[] = {1, 7, 1000, 65536};
    struct met met = {0};
    uint64_t seed = 1;
    for (int i = 0; i < SHAPES; i++) {
        struct error error = {0};
        struct packed_layout layout;
        struct packed p;
        struct coo x;
        uint64_t dims[MAX_ORDER], nnz = 1 + naive_random(&seed) % 8000;
        int order = i % 9 < 8 ? i % 9 + 1 : 16;
        random_lengths(&seed, order, bits[naive_random(&seed) % 8], dims);
        if (!stream_layout_create(&layout, order, dims))
            continue;
        coo_in_form(&x, order, dims, nnz, naive_random(&seed), i % (FORM_BY_REGION + 1));
        int kind = (int)(naive_random(&seed) % (uint64_t)(order + 1)) - 1;
        assert_int_equal(packed_build(&p, &x, kind, segments[i % 4], NULL, &error), STATUS_OK);
        check_packed(&layout, &p, &met);
        packed_free(&p);
        coo_free(&x);
    }
    for (int b = 0; b <= 8; b++)
        assert_true(met.index_bytes[b] > 0);
    for (int f = 0; f < VALUES_FORMS; f++)
        assert_true(met.value_form[f] > 0);
    assert_true(met.words[1] > 20 && met.words[2] > 20 && met.several_blocks > 20);
}

static void test_coordinate_beyond_its_mode(void **state)
{
    (void)state;
    static const uint64_t dims[] = {5, 900, 70};
    for (int n = 0; n < 3; n++) {
        struct error error = {0};
        struct packed_layout layout;
        struct packed p;
        struct coo x;
        uint64_t first, word[PACKED_WORDS];
        naive_random_coo(&x, 3, dims, 5000, 1, 0);
        assert_true(stream_layout_create(&layout, 3, dims));
        assert_int_equal(packed_build(&p, &x, ORDERING_ALTO, 1000, NULL, &error), STATUS_OK);
        uint64_t count = damage(&p, 2, n, &first), found = 0;
        const uint8_t *segment = p.bytes + p.segment[2].offset;
        for (uint32_t k = 0; k < p.segment[2].nblocks; k++) {
            struct packed_block b;
            memcpy(&b, segment + k * layout.stride, sizeof b);
            for (uint32_t i = 0; i < b.count; i++) {
                int mode = packed_coordinates(&layout, segment + k * layout.stride,
                                              packed_index(segment, b, i), word);
                if (mode == 0)
                    continue;
                assert_int_equal(mode, n + 1);
                assert_true(word[0] == 0 && word[1] == 0);
                found++;
            }
        }
        assert_int_equal(found, count);
        packed_free(&p);
        coo_free(&x);
    }
}

static void test_layouts(void **state)
{
    (void)state;
    struct packed_layout l;
    const uint64_t one_word[] = {UINT64_C(1) << 31, 1, MAX_LENGTH, 2};
    assert_true(stream_layout_create(&l, 4, one_word));
    assert_int_equal(l.words, 1);
    assert_int_equal(l.mode[1].mask, 0);
    assert_int_equal(l.mode[1].shift, 0);
    assert_int_equal(l.mode[2].mask, UINT32_MAX);

    const uint64_t four[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 1};
    assert_true(stream_layout_create(&l, 5, four));
    assert_int_equal(l.words, 2);
    uint64_t used[2] = {0, 0};
    for (int n = 0; n < 4; n++) {
        uint64_t place = (uint64_t)l.mode[n].mask << l.mode[n].shift;
        assert_int_equal(used[l.mode[n].word] & place, 0);
        used[l.mode[n].word] |= place;
    }
    assert_true(used[0] == UINT64_MAX && used[1] == UINT64_MAX);

    /* 125 bits, of which a word holds only 50; 129 bits */
    const uint64_t unlucky[] = {1 << 25, 1 << 25, 1 << 25, 1 << 25, 1 << 25};
    assert_false(stream_layout_create(&l, 5, unlucky));
    const uint64_t too_many[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 2};
    assert_false(stream_layout_create(&l, 5, too_many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_decoded_as_on_the_host),
        cmocka_unit_test(test_coordinate_beyond_its_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
