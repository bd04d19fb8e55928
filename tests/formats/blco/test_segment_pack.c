/* How segments are packed: the groups, what they take, and that they decode to what they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/blco_files.h"
#include "support/packed_tensors.h"
#include "support/scratch.h"

static void set_values(struct coo *x, int form, uint64_t seed)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = value_in_form(form, i + seed);
}

static void check_build(const struct coo *x, int kind, uint64_t segment_nnz)
{
    struct packed_tensor p;
    struct coo got;
    struct error error = {0};
    assert_int_equal(packed_tensor_build(&p, x, kind, segment_nnz, NULL, &error), STATUS_OK);
    unpack_all(&p, &got);
    assert_sorted_along(&got, x, kind);
    coo_free(&got);
    packed_tensor_free(&p);
}

static double bytes_of(const struct coo *x, int kind, uint64_t segment_nnz)
{
    struct packed_tensor p;
    struct error error = {0};
    assert_int_equal(packed_tensor_build(&p, x, kind, segment_nnz, NULL, &error), STATUS_OK);
    double bytes = (double)p.size / (double)x->nnz;
    packed_tensor_free(&p);
    return bytes;
}

/* The mean gap between 300000 places on a line of 36 bits has 17.8 bits, and a nonzero takes two
 * bits more at most, in every ordering. Values of 1 to 255 take eight. */
static void test_bytes(void **state)
{
    (void)state;
    static const uint64_t dims[] = {200, 30, 1100, 4000}; /* 8 + 5 + 11 + 12 bits */
    struct coo x;
    uint64_t seed = 1;
    naive_random_coo(&x, SHAPE(4, dims), 300000, 5, 0);
    const double expected[] = {19.81 / 8, 27.81 / 8};
    for (int form = 0; form < 2; form++) {
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = form ? (double)(naive_random(&seed) % 255 + 1) : 1;
        for (int kind = ORDERING_ALTO; kind < x.shape.order; kind++) {
            double bytes = bytes_of(&x, kind, 0), entry = 32.0 / PACKED_GROUP_NNZ;
            assert_true(bytes <= expected[form] + entry + 0.01);
        }
    }
    coo_free(&x);
}

/* What scattered nonzeros with arbitrary values take: at most 16 bytes where lines have up to 64
 * bits, 24 where they have up to 128. */
static void test_bytes_at_most(void **state)
{
    (void)state;
    static const struct {
        int order;
        uint64_t dims[MAX_ORDER];
        double bytes;
    } lines[] = {
        {2, {MAX_LENGTH, MAX_LENGTH}, 16},
        {3, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}, 20},
        {4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}, 24},
    };
    uint64_t seed = 1;
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
        struct coo x;
        int bits = ordering_line_bits(SHAPE(lines[l].order, lines[l].dims));
        naive_random_coo(&x, SHAPE(lines[l].order, lines[l].dims), 2 * BLCO_SEGMENT_NNZ + 1, seed,
                         0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = 1 / (double)(naive_random(&seed) >> 11 | 1);
        assert_true(bytes_of(&x, ORDERING_ALTO, 0) <= lines[l].bytes);
        assert_true((double)packed_size_at_most(bits, x.nnz, BLCO_SEGMENT_NNZ) <=
                    lines[l].bytes * (double)x.nnz);
        for (int i = 0; i < 9; i++) {
            const uint64_t segment_nnz[] = {1, 2, 3, 7, 31, 255, 256, 257, 1000};
            x.nnz = 20 * segment_nnz[i] + 1;
            assert_true(bytes_of(&x, ORDERING_ALTO, segment_nnz[i]) * (double)x.nnz <=
                        (double)packed_size_at_most(bits, x.nnz, segment_nnz[i]));
        }
        coo_free(&x);
        /* one group on the whole line, which nearly takes what is the most */
        naive_random_coo(&x, SHAPE(lines[l].order, lines[l].dims), PACKED_GROUP_NNZ, seed, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = 1 / (double)(naive_random(&seed) >> 11 | 1);
        assert_true((double)packed_size_at_most(bits, x.nnz, BLCO_SEGMENT_NNZ) <=
                    1.03 * bytes_of(&x, ORDERING_ALTO, 0) * (double)x.nnz);
        coo_free(&x);
    }
}

/* The lines (nnz) of a tensor of one mode. */
static void set_lines(struct coo *x, uint64_t nnz, uint32_t first, uint32_t gap, uint32_t last)
{
    x->nnz = nnz;
    for (uint64_t i = 0; i < nnz; i++) {
        x->index[0][i] = i + 1 < nnz ? first + (uint32_t)i * gap : last;
        x->value[i] = 1;
    }
}

static struct packed_group only_group(const struct coo *x, uint64_t *line)
{
    struct packed_tensor p;
    struct packed_group g;
    struct error error = {0};
    assert_int_equal(packed_tensor_build(&p, x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
    assert_int_equal(p.segment[0].ngroups, 1);
    segment_group_load(p.bytes, 0, ordering_line_bits(&x->shape), &g, line);
    packed_tensor_free(&p);
    check_build(x, ORDERING_ALTO, 0);
    return g;
}

/* low_bits takes the fewest words of all there are. */
static void check_choice(const struct packed_group *g, uint64_t first, uint64_t last)
{
    uint32_t words = packed_field_words(g->count, g->low_bits) + g->upper_words;
    for (int low = 0; low < 40; low++) {
        uint64_t bits = (last >> low) - (first >> low) + g->count;
        if (bits <= 32 * PACKED_UPPER_WORDS)
            assert_true(words <= packed_field_words(g->count, low) + (bits + 31) / 32);
        if (low == g->low_bits)
            assert_int_equal(g->upper_words, (bits + 31) / 32);
    }
}

static void test_low_bits(void **state)
{
    (void)state;
    const uint64_t dims[] = {MAX_LENGTH};
    struct coo x;
    struct error error = {0};
    uint64_t line, longest = 0;
    assert_int_equal(coo_create(&x, SHAPE(1, dims), PACKED_GROUP_NNZ, &error), STATUS_OK);
    /* a single one, neighbours */
    set_lines(&x, 1, 12345, 0, 12345);
    struct packed_group g = only_group(&x, &line);
    assert_true(g.low_bits == 0 && g.upper_words == 1 && g.count == 1 && line == 12345);
    set_lines(&x, 256, 1000, 1, 1255);
    g = only_group(&x, &line);
    assert_true(g.low_bits == 0 && g.upper_words == 16 && line == 1000);
    /* the last one further and further away: to where the vector is longest */
    for (uint64_t nnz = 2; nnz <= PACKED_GROUP_NNZ; nnz += nnz < 20 ? 1 : 59)
        for (uint32_t last = 2048; last < MAX_LENGTH - last / 8; last += last / 8) {
            set_lines(&x, nnz, 1000, 1, 1000 + last);
            g = only_group(&x, &line);
            check_choice(&g, 1000, 1000 + last);
            longest = g.upper_words > longest ? g.upper_words : longest;
            assert_int_equal(line, 1000 >> g.low_bits << g.low_bits);
        }
    assert_in_range(longest, 23, 25); /* 256 + 512 bits */
    x.nnz = PACKED_GROUP_NNZ;
    coo_free(&x);
}

/* Lines of 160 bits: where those from place 128 on change, a group ends. */
static void test_upper_bits_end_a_group(void **state)
{
    (void)state;
    const uint64_t dims[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH};
    struct coo x;
    struct packed_tensor p;
    struct error error = {0};
    assert_int_equal(coo_create(&x, SHAPE(5, dims), 1300, &error), STATUS_OK);
    for (uint64_t i = 0; i < x.nnz; i++) {
        /* 500 below bit 26 of the first mode (place 130), 1 and 799 above */
        uint32_t above = i < 500 ? 0 : i == 500 ? 1 : 2;
        for (int n = 0; n < 5; n++)
            x.index[n][i] = (uint32_t)(i * 7919 % 1300) << (n * 3);
        x.index[1][i] |= above << 26;
        x.value[i] = (double)i + 1;
    }
    assert_int_equal(packed_tensor_build(&p, &x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
    const uint32_t count[] = {256, 244, 1, 256, 256, 256, 31};
    assert_int_equal(p.segment[0].ngroups, 7);
    for (uint32_t k = 0; k < 7; k++) {
        struct packed_group g;
        uint64_t line[3];
        segment_group_load(p.bytes, k, 160, &g, line);
        assert_int_equal(g.count, count[k]);
        assert_int_equal(line[2], k < 2 ? 0 : k == 2 ? 1 << 3 : 1 << 8); /* places 131 and 136 */
    }
    packed_tensor_free(&p);
    check_build(&x, ORDERING_ALTO, 0);
    coo_free(&x);
}

/* Gaps of every width, also across 64 bits and with more low bits than a word has. */
static void test_wide_gaps(void **state)
{
    (void)state;
    const uint64_t dims[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH};
    uint64_t seed = 1;
    int wide = 0, word = 0;
    for (int bits = 1; bits <= 128; bits++) {
        struct coo x;
        struct packed_tensor p;
        struct packed_group g;
        struct error error = {0};
        naive_random_coo(&x, SHAPE(4, dims), 400, seed + (uint64_t)bits, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            for (int n = 0; n < 4; n++) {
                int kept = (bits - n + 3) / 4;
                uint64_t mask = (UINT64_C(1) << kept) - 1;
                uint32_t common = bits % 2 ? 0x5a5a5a5a : 0xfffffffe;
                x.index[n][i] = (uint32_t)((x.index[n][i] & mask) | (common & ~mask));
                x.index[n][i] -= x.index[n][i] == UINT32_MAX;
            }
        struct coo_cleaning cleaning;
        assert_int_equal(coo_clean(&x, NULL, COO_DROP_ZEROS, &cleaning, &error), STATUS_OK);
        set_values(&x, bits % PACKED_FORMS, seed);
        assert_int_equal(packed_tensor_build(&p, &x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
        segment_group_load(p.bytes, 0, 128, &g, NULL);
        wide += g.low_bits > 64;
        word += g.low_bits > 32 && g.low_bits <= 64;
        packed_tensor_free(&p);
        for (int kind = ORDERING_ALTO; kind < 4; kind++)
            check_build(&x, kind, bits % 3 ? 0 : 5);
        coo_free(&x);
    }
    assert_true(wide > 40 && word > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),     cmocka_unit_test(test_bytes_at_most),
        cmocka_unit_test(test_low_bits),  cmocka_unit_test(test_upper_bits_end_a_group),
        cmocka_unit_test(test_wide_gaps),
    };
    return cmocka_run_group_tests_name("blco pack", tests, NULL, NULL);
}
