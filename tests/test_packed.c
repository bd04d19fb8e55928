#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <isa-l/crc64.h>

#include "scratch.h"
#include "blco_files.h"
#include "blco_pack.h"
#include "packed.h"

/* Values of one form (kind 0 to 4), or of a mixture. */
static void set_values(struct coo *x, int kind, uint64_t *seed)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t r = naive_random(seed);
        const double value[] = {2.5, (double)(r % 255 + 1), (double)(r % 65535 + 1),
                                (double)((float)(r % 1000 + 1) / 7), (double)(r % 100000 + 1) / 7};
        x->value[i] = value[kind < 5 ? kind : (int)(r >> 60) % 5];
    }
}

/* The nonzeros of all segments, in their order; the segments lie one behind the other. */
static void unpack_all(const struct packed *p, struct coo *x)
{
    struct error error = {0};
    struct line_decoder d;
    struct ordering o;
    uint64_t at = 0, done = 0;
    ordering_create(&o, p->kind, p->order, p->dims, 64);
    assert_int_equal(line_decoder_create(&d, &o, &error), STATUS_OK);
    assert_int_equal((uintptr_t)p->bytes % BLCO_PAGE, 0);
    assert_int_equal(coo_create(x, p->order, p->dims, p->nnz, &error), STATUS_OK);
    for (uint64_t s = 0; s < p->nsegments; s++) {
        const struct blco_file_segment *segment = &p->segment[s];
        const uint8_t *bytes = p->bytes + segment->offset;
        uint64_t count = packed_nnz(p, s, s + 1);
        assert_true(count > 0 && count <= p->segment_nnz);
        assert_int_equal(segment->offset, at);
        assert_int_equal(segment->bytes % BLCO_SEGMENT_ALIGN, 0);
        assert_int_equal(segment->crc, crc64_ecma_refl(0, bytes, segment->bytes));
        assert_true(blco_is_sound(bytes, segment, o.line_bits, (uint32_t)count));
        assert_false(blco_is_sound(bytes, segment, o.line_bits, (uint32_t)count + 1));
        assert_false(blco_is_sound(bytes, segment, o.line_bits, (uint32_t)count - 1));
        if (blco_unpack(&d, bytes, segment, x, done, (uint32_t)count, "x", &error) != STATUS_OK)
            fail_msg("%s", error.message);
        at += segment->bytes;
        done += count;
    }
    assert_int_equal(at, p->size);
    assert_int_equal(done, p->nnz);
    assert_int_equal(packed_nnz(p, 0, p->nsegments), p->nnz);
    assert_true(p->size <= blco_pack_at_most(o.line_bits, p->nnz, p->segment_nnz));
    line_decoder_free(&d);
}

static void check_norm(const struct packed *p, const struct coo *x)
{
    double expected = coo_norm_sq(x), got = packed_norm_sq(p);
    assert_true(got >= expected * (1 - 1e-14) && got <= expected * (1 + 1e-14));
}

static void check_build(const struct coo *x, int kind, uint64_t segment_nnz)
{
    struct packed p;
    struct coo got;
    struct error error = {0};
    assert_int_equal(packed_build(&p, x, kind, segment_nnz, NULL, &error), STATUS_OK);
    assert_int_equal(p.kind, kind);
    assert_int_equal(p.segment_nnz, segment_nnz ? segment_nnz : BLCO_SEGMENT_NNZ);
    unpack_all(&p, &got);
    assert_sorted_along(&got, x, kind);
    check_norm(&p, x);
    coo_free(&got);
    packed_free(&p);
    packed_free(&p);
}

static const struct shape {
    int order;
    uint64_t dims[MAX_ORDER];
    uint64_t nnz;
} shapes[] = {
    {1, {1}, 1},
    {1, {1000000}, 500},
    {2, {MAX_LENGTH, MAX_LENGTH}, 300},
    {3, {1, 7, 1}, 5},
    {3, {40, 50, 60}, 70000},
    {3, {MAX_LENGTH, MAX_LENGTH, 2}, 700}, /* 65 bits  */
    {4, {183, 24, 1140, 1717}, 3000},
    {5, {MAX_LENGTH, 1, MAX_LENGTH, 300, MAX_LENGTH}, 300},        /* 105 bits */
    {4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}, 300},    /* 128 bits */
    {5, {MAX_LENGTH, MAX_LENGTH, 2, MAX_LENGTH, MAX_LENGTH}, 600}, /* 129 bits */
    {6, {60, 2, 1, 3, 900, 9}, 2000},
    {7, {5, 5, 5, 5, 5, 5, 5}, 1000},
    {8, {MAX_LENGTH, 2, 3, MAX_LENGTH, 5, MAX_LENGTH, MAX_LENGTH, 8}, 200},
    {9, {90, 90, 90, 90, 90, 90, 90, 90, 90}, 3000}, /* 63 bits in modes of 7 */
    {16,
     {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH,
      MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH,
      MAX_LENGTH, MAX_LENGTH},
     200},
    {16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 9000},
};

static void test_every_ordering(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 7, 0};
    uint64_t seed = 1;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct coo x;
        naive_random_coo(&x, shapes[s].order, shapes[s].dims, shapes[s].nnz, seed, (int)s % 2);
        for (int kind = ORDERING_ALTO; kind < x.order; kind++)
            for (int i = x.nnz > 4000 ? 2 : 0; i < 3; i++) {
                set_values(&x, (int)(naive_random(&seed) % 6), &seed);
                check_build(&x, kind, lengths[i]);
            }
        coo_free(&x);
    }
}

static double bytes_of(const struct coo *x, int kind, uint64_t segment_nnz)
{
    struct packed p;
    struct error error = {0};
    assert_int_equal(packed_build(&p, x, kind, segment_nnz, NULL, &error), STATUS_OK);
    double bytes = (double)p.size / (double)x->nnz;
    packed_free(&p);
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
    naive_random_coo(&x, 4, dims, 300000, 5, 0);
    const double expected[] = {19.81 / 8, 27.81 / 8};
    for (int form = 0; form < 2; form++) {
        set_values(&x, form, &seed);
        for (int kind = ORDERING_ALTO; kind < x.order; kind++) {
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
        int bits = ordering_line_bits(lines[l].order, lines[l].dims);
        naive_random_coo(&x, lines[l].order, lines[l].dims, 2 * BLCO_SEGMENT_NNZ + 1, seed, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = 1 / (double)(naive_random(&seed) >> 11 | 1);
        assert_true(bytes_of(&x, ORDERING_ALTO, 0) <= lines[l].bytes);
        assert_true((double)blco_pack_at_most(bits, x.nnz, BLCO_SEGMENT_NNZ) <=
                    lines[l].bytes * (double)x.nnz);
        for (int i = 0; i < 9; i++) {
            const uint64_t segment_nnz[] = {1, 2, 3, 7, 31, 255, 256, 257, 1000};
            x.nnz = 20 * segment_nnz[i] + 1;
            assert_true(bytes_of(&x, ORDERING_ALTO, segment_nnz[i]) * (double)x.nnz <=
                        (double)blco_pack_at_most(bits, x.nnz, segment_nnz[i]));
        }
        coo_free(&x);
        /* one group on the whole line, which nearly takes what is the most */
        naive_random_coo(&x, lines[l].order, lines[l].dims, PACKED_GROUP_NNZ, seed, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = 1 / (double)(naive_random(&seed) >> 11 | 1);
        assert_true((double)blco_pack_at_most(bits, x.nnz, BLCO_SEGMENT_NNZ) <=
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
    struct packed p;
    struct packed_group g;
    struct error error = {0};
    assert_int_equal(packed_build(&p, x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
    assert_int_equal(p.segment[0].ngroups, 1);
    blco_group_load(p.bytes, 0, ordering_line_bits(x->order, x->dims), &g, line);
    packed_free(&p);
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
    assert_int_equal(coo_create(&x, 1, dims, PACKED_GROUP_NNZ, &error), STATUS_OK);
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
    struct packed p;
    struct error error = {0};
    assert_int_equal(coo_create(&x, 5, dims, 1300, &error), STATUS_OK);
    for (uint64_t i = 0; i < x.nnz; i++) {
        /* 500 below bit 26 of the first mode (place 130), 1 and 799 above */
        uint32_t above = i < 500 ? 0 : i == 500 ? 1 : 2;
        for (int n = 0; n < 5; n++)
            x.index[n][i] = (uint32_t)(i * 7919 % 1300) << (n * 3);
        x.index[1][i] |= above << 26;
        x.value[i] = (double)i + 1;
    }
    assert_int_equal(packed_build(&p, &x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
    const uint32_t count[] = {256, 244, 1, 256, 256, 256, 31};
    assert_int_equal(p.segment[0].ngroups, 7);
    for (uint32_t k = 0; k < 7; k++) {
        struct packed_group g;
        uint64_t line[3];
        blco_group_load(p.bytes, k, 160, &g, line);
        assert_int_equal(g.count, count[k]);
        assert_int_equal(line[2], k < 2 ? 0 : k == 2 ? 1 << 3 : 1 << 8); /* places 131 and 136 */
    }
    packed_free(&p);
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
        struct packed p;
        struct packed_group g;
        struct error error = {0};
        naive_random_coo(&x, 4, dims, 400, seed + (uint64_t)bits, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            for (int n = 0; n < 4; n++) {
                int kept = (bits - n + 3) / 4;
                uint64_t mask = (UINT64_C(1) << kept) - 1;
                uint32_t common = bits % 2 ? 0x5a5a5a5a : 0xfffffffe;
                x.index[n][i] = (uint32_t)((x.index[n][i] & mask) | (common & ~mask));
                x.index[n][i] -= x.index[n][i] == UINT32_MAX;
            }
        struct coo_cleaning cleaning;
        assert_int_equal(coo_clean(&x, &cleaning, &error), STATUS_OK);
        set_values(&x, bits % 6, &seed);
        assert_int_equal(packed_build(&p, &x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
        blco_group_load(p.bytes, 0, 128, &g, NULL);
        wide += g.low_bits > 64;
        word += g.low_bits > 32 && g.low_bits <= 64;
        packed_free(&p);
        for (int kind = ORDERING_ALTO; kind < 4; kind++)
            check_build(&x, kind, bits % 3 ? 0 : 5);
        coo_free(&x);
    }
    assert_true(wide > 40 && word > 20);
}

static void test_same_whatever_the_threads(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 700, 900};
    struct coo x;
    struct packed one, more;
    struct error error = {0};
    uint64_t seed = 1;
    int before = omp_get_max_threads();
    naive_random_coo(&x, 3, dims, 2 * BLCO_SEGMENT_NNZ + 5000, 1, 0);
    set_values(&x, 4, &seed);
    omp_set_num_threads(1);
    assert_int_equal(packed_build(&one, &x, 1, 1000, NULL, &error), STATUS_OK);
    double norm = packed_norm_sq(&one);
    for (int threads = 2; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        assert_int_equal(packed_build(&more, &x, 1, 1000, NULL, &error), STATUS_OK);
        assert_int_equal(more.size, one.size);
        assert_memory_equal(more.bytes, one.bytes, one.size);
        double other = packed_norm_sq(&more);
        assert_memory_equal(&other, &norm, sizeof norm);
        packed_free(&more);
    }
    omp_set_num_threads(before);
    packed_free(&one);
    coo_free(&x);
}

static void test_no_nonzeros(void **state)
{
    (void)state;
    struct coo x;
    struct packed p;
    struct error error = {0};
    assert_int_equal(coo_create(&x, 2, (uint64_t[]){3, 4}, 0, &error), STATUS_OK);
    assert_int_equal(packed_build(&p, &x, 0, 0, NULL, &error), STATUS_OK);
    assert_int_equal(p.nsegments, 0);
    assert_true(packed_norm_sq(&p) == 0);
    packed_free(&p);
    coo_free(&x);
}

/* A file's segments are those that packing in alto order gives. */
static void test_load(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct coo x;
        struct coo_runs_report report;
        struct error error = {0};
        struct blco_file f;
        struct packed loaded, built;
        naive_random_coo(&x, shapes[s].order, shapes[s].dims, shapes[s].nnz, seed, 0);
        set_values(&x, 5, &seed);
        assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
        assert_int_equal(blco_file_open(&f, scratch_path("x.blco"), &error), STATUS_OK);
        assert_int_equal(packed_load(&loaded, &f, NULL, &error), STATUS_OK);
        blco_file_close(&f);
        assert_int_equal(packed_build(&built, &x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
        assert_int_equal(loaded.kind, ORDERING_ALTO);
        assert_int_equal(loaded.order, built.order);
        assert_int_equal(loaded.nnz, built.nnz);
        assert_int_equal(loaded.segment_nnz, built.segment_nnz);
        assert_int_equal(loaded.nsegments, built.nsegments);
        assert_int_equal(loaded.size, built.size);
        assert_memory_equal(loaded.dims, built.dims, sizeof built.dims);
        assert_memory_equal(loaded.segment, built.segment, built.nsegments * sizeof *built.segment);
        assert_memory_equal(loaded.bytes, built.bytes, built.size);
        packed_free(&loaded);
        packed_free(&built);
        coo_free(&x);
    }
}

/* A file with byte `at` of its data changed, and a checksum that fits where it is
 * signed. */
static enum status load_damaged(const char *good, size_t size, size_t at, int sign,
                                struct error *error)
{
    struct blco_file f;
    struct packed p;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, good, size);
    struct blco_file_header *h = (struct blco_file_header *)(void *)bytes;
    struct blco_file_segment *s = (void *)(bytes + h->directory_offset);
    bytes[s->offset + at] = (char)(bytes[s->offset + at] ^ 0x40);
    if (sign) {
        uint64_t behind = h->data_offset + h->data_bytes;
        s->crc = crc64_ecma_refl(0, (uint8_t *)bytes + s->offset, s->bytes);
        h->directory_crc = crc64_ecma_refl(0, (uint8_t *)bytes + behind, size - behind);
        h->header_crc = 0;
        h->header_crc = crc64_ecma_refl(0, (uint8_t *)bytes, BLCO_PAGE);
    }
    const char *path = scratch_file("bad.blco", bytes, size);
    assert_int_equal(blco_file_open(&f, path, error), STATUS_OK);
    enum status status = packed_load(&p, &f, NULL, error);
    if (status != STATUS_OK)
        assert_true(p.bytes == NULL && p.segment == NULL);
    packed_free(&p);
    blco_file_close(&f);
    free(bytes);
    return status;
}

static void test_damaged_file(void **state)
{
    (void)state;
    static const uint64_t dims[] = {MAX_LENGTH, 9, 70000};
    struct coo x;
    struct coo_runs_report report;
    struct error error = {0};
    naive_random_coo(&x, 3, dims, 40, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
    size_t size, table = blco_group_stride(ordering_line_bits(3, dims));
    char *good = file_bytes(scratch_path("x.blco"), &size);
    for (size_t at = 0; at < table + 200; at++) {
        error = (struct error){0};
        assert_int_equal(load_damaged(good, size, at, 0, &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, "bad.blco: damaged: nonzeros from number 1 on"));
    }
    /* In the first group's entry: all but `least`, and of the line the lowest and highest bits. */
    for (size_t at = 0; at < sizeof(struct packed_group) + sizeof(uint64_t); at++) {
        bool least = at >= 16 && at<24, line = at> 24 && at < 31;
        error = (struct error){0};
        if (!least && !line)
            assert_int_equal(load_damaged(good, size, at, 1, &error), STATUS_INPUT);
    }
    free(good);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    struct coo x;
    struct blco_file f;
    struct coo_runs_report report;
    struct error error = {0};
    naive_random_coo(&x, 3, (uint64_t[]){50, 60, 70}, 500, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(blco_file_open(&f, scratch_path("x.blco"), &error), STATUS_OK);
    for (int from_file = 0; from_file < 2; from_file++) {
        int failures = 0;
        for (long i = 0, fired = 1; fired; i++) {
            struct packed p;
            error = (struct error){0};
            memory_hook_set(i);
            enum status status = from_file ? packed_load(&p, &f, NULL, &error)
                                           : packed_build(&p, &x, 2, 16, NULL, &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            if (fired)
                assert_true(p.bytes == NULL && p.segment == NULL);
            packed_free(&p);
            failures += (int)fired;
        }
        assert_true(failures >= (from_file ? 2 : 8));
    }
    blco_file_close(&f);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_ordering),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bytes_at_most),
        cmocka_unit_test(test_low_bits),
        cmocka_unit_test(test_upper_bits_end_a_group),
        cmocka_unit_test(test_wide_gaps),
        cmocka_unit_test(test_same_whatever_the_threads),
        cmocka_unit_test(test_no_nonzeros),
        cmocka_unit_test_setup_teardown(test_load, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged_file, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_allocation_fails, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
