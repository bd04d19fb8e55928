/* Unused bytes that are not zero and values that no tensor has, with right checksums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/packed_tensor.h"
#include "support/damaged_blco.h"

/* The small file with one word changed at `at`, and right checksums. */
static void assert_refused_with(const char *good, size_t size, size_t at, uint64_t word,
                                const char *what)
{
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, good, size);
    memcpy(bytes + at, &word, sizeof word);
    sign(bytes, size);
    assert_refused(bytes, size, what);
    free(bytes);
}

/* What stands for nothing is zero. */
static void test_unused_bytes(void **state)
{
    (void)state;
    size_t size;
    char *good = small_file(&size);
    const struct blco_file_header *h = header_of(good);
    const struct blco_file_segment *s = segment_of(good);
    uint64_t dims = offsetof(struct blco_file_header, dims),
             behind = h->data_offset + h->data_bytes;
    const char *field = "a field of the header that is not used is not 0";
    const char *page = "the first page is not 0 after the header";
    const char *gap = "the bytes between data and directory are not 0";
    assert_refused_with(good, size, offsetof(struct blco_file_header, order), 3 | UINT64_C(1) << 40,
                        field);
    for (size_t n = 3; n < MAX_ORDER; n++)
        assert_refused_with(good, size, dims + 8 * n, n == 9 ? UINT64_MAX : 1, field);
    assert_refused_with(good, size, sizeof *h, 1, page);
    assert_refused_with(good, size, BLCO_NAMES_OFFSET - 8, UINT64_C(1) << 63, page);
    assert_refused_with(good, size, BLCO_PAGE - 8, UINT64_C(1) << 63, "the name of mode 16");
    assert_refused_with(good, size, behind, 1, gap);
    assert_refused_with(good, size, h->directory_offset - 8, UINT64_C(1) << 63, gap);
    struct packed_group g;
    memcpy(&g, good + s->offset, sizeof g);
    size_t end = g.at + blco_group_words(&g) * sizeof(uint32_t);
    assert_true(end + 8 <= s->bytes);
    assert_refused_with(good, size, s->offset + end, 1, "contradict its tables");
    assert_refused_with(good, size, s->offset + s->bytes - 8, UINT64_C(1) << 63,
                        "contradict its tables");
    free(good);
}

/* Values that the header does not announce, with right checksums: decoded, and loaded as they are
 * packed. */
static void test_bad_values(void **state)
{
    (void)state;
    static const double bad[] = {0, -0.0, INFINITY, -INFINITY, NAN};
    struct coo x;
    struct external_sort_report report;
    struct error error;
    for (size_t c = 0; c < 2 * sizeof bad / sizeof *bad; c++) {
        bool constant = c % 2;
        naive_random_coo(&x, &(struct shape){2, {300, 20}}, 100, 1, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = constant ? 7 : 1 / (double)(i + 3);
        assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
        coo_free(&x);
        size_t size;
        char *bytes = file_bytes(scratch_path("x.blco"), &size);
        char *segment = bytes + segment_of(bytes)->offset;
        struct packed_group g;
        memcpy(&g, segment, sizeof g);
        assert_int_equal(g.value_form, constant ? PACKED_CONSTANT : PACKED_F64);
        size_t values = g.at + packed_field_words(g.count, g.low_bits) * sizeof(uint32_t);
        size_t at = constant ? offsetof(struct packed_group, least) : values + 17 * sizeof(double);
        memcpy(segment + at, &bad[c / 2], sizeof *bad);
        sign(bytes, size);
        assert_refused(bytes, size,
                       constant ? "the value of nonzero number 1 is"
                                : "the value of nonzero number 18 is");
        struct blco_file f;
        struct packed_tensor p;
        assert_int_equal(blco_file_open(&f, scratch_path("bad.blco"), &error), STATUS_OK);
        assert_int_equal(packed_tensor_load(&p, &f, NULL, &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, "contradict its tables and checksums"));
        blco_file_close(&f);
        free(bytes);
    }
}

/* A file of 100 entries, some of them unknown and some zeros. */
static char *listing_file(uint64_t unknown, uint64_t zeros, size_t *size)
{
    struct coo x, copy;
    struct external_sort sort;
    struct external_sort_report report;
    struct error error = {0};
    naive_random_coo(&x, &(struct shape){2, {300, 20}}, 100, 1, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = i < unknown ? COO_UNKNOWN : i < unknown + zeros ? 0 : 7;
    copy_coo(&copy, &x);
    external_sort_init(&sort, scratch_path("x.blco"), 1 << 20, NULL);
    sort.zeros = COO_KEEP_ZEROS;
    assert_int_equal(external_sort_write(&sort, &copy, &report, &error), STATUS_OK);
    external_sort_free(&sort);
    coo_free(&x);
    return file_bytes(scratch_path("x.blco"), size);
}

/* The header's numbers of unknown entries and zeros are those of the data. */
static void test_listed(void **state)
{
    (void)state;
    static const uint64_t counts[][2] = {{0, 0}, {5, 0}, {0, 4}, {3, 2}, {100, 0}, {0, 100}};
    size_t size;
    struct coo x;
    struct error error;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        char *bytes = listing_file(counts[c][0], counts[c][1], &size);
        struct blco_file_header *h = header_of(bytes);
        assert_true(h->unknown == counts[c][0] && h->zeros == counts[c][1] && h->dropped == 0);
        assert_int_equal(read_blco(&x, scratch_path("x.blco"), &error), STATUS_OK);
        const struct coo_listed listed = coo_count_listed(&x);
        assert_true(listed.unknown == counts[c][0] && listed.zeros == counts[c][1]);
        coo_free(&x);
        for (int field = 0; field < 2; field++)
            for (int by = -1; by <= 1; by += 2) {
                uint64_t *number = field ? &h->zeros : &h->unknown, before = *number;
                *number += (uint64_t)(int64_t)by;
                sign(bytes, size);
                assert_refused(bytes, size, "damaged");
                *number = before;
            }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unused_bytes, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_listed, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad_values, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("unused bytes of blco files", tests, NULL, NULL);
}
