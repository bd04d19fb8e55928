/* .blco files: what is written is read back to the last bit, in few bytes, and byte for byte as
 * defined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/segment_pack.h"
#include "support/damaged_blco.h"
#include "support/scratch.h"

/* Writes, reads and compares; returns the file's bytes a nonzero. */
static double round_trip(const struct coo *x)
{
    struct external_sort_report report;
    struct error error;
    struct coo got;
    const char *path = scratch_path("x.blco");
    if (write_blco(x, path, &report, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(report.cleaning.zeros + report.cleaning.duplicates, 0);
    assert_int_equal(report.nnz, x->nnz);
    if (read_blco(&got, path, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_sorted_as(&got, x);
    coo_free(&got);
    return (double)report.bytes / (double)x->nnz;
}

/* Values of one form and of a mixture; unless 0, every `unknown`-th is unknown. */
static void set_values(struct coo *x, int kind, uint64_t unknown, uint64_t *seed)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t r = naive_random(seed);
        const double value[] = {2.5, (double)(r % 255 + 1), (double)(r % 65535 + 1),
                                (double)((float)(r % 1000 + 1) / 7), (double)(r % 100000 + 1) / 7};
        x->value[i] = value[kind < 5 ? kind : (int)(r >> 60) % 5];
        if (unknown > 0 && i % unknown == 0)
            x->value[i] = COO_UNKNOWN;
    }
}

static void test_shapes_and_values(void **state)
{
    (void)state;
    static const struct {
        int order;
        uint64_t dims[MAX_ORDER];
        uint64_t nnz;
    } shapes[] = {
        {1, {1}, 1},
        {1, {1000000}, 5000},
        {2, {MAX_LENGTH, MAX_LENGTH}, 3000},
        {3, {1, 7, 1}, 5},
        {3, {40, 50, 60}, 20000},
        {3, {MAX_LENGTH, MAX_LENGTH, 2}, 2000}, /* 65 bits  */
        {4, {183, 24, 1140, 1717}, 30000},
        {5, {MAX_LENGTH, 1, MAX_LENGTH, 300, MAX_LENGTH}, 3000},                /* 105 bits */
        {5, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}, 900}, /* 160 bits */
        {16,
         {MAX_LENGTH, 2, 3, MAX_LENGTH, 5, MAX_LENGTH, 7, 8, MAX_LENGTH, 10, MAX_LENGTH, 12,
          MAX_LENGTH, 14, MAX_LENGTH, MAX_LENGTH},
         500},
        {16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 9000},
    };
    uint64_t seed = 1;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int kind = 0; kind < 12; kind++) {
            struct coo x;
            naive_random_coo(&x, SHAPE(shapes[s].order, shapes[s].dims), shapes[s].nnz, seed,
                             kind % 2);
            set_values(&x, kind % 6, kind < 6 ? 0 : 1 + s * 100, &seed);
            round_trip(&x);
            coo_free(&x);
        }
    }
}

/* Lines that differ in exactly so many bits, in one mode and in two. */
static void test_widths_of_lines(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 64; bits++) {
        for (int first = bits > 32 ? bits - 32 : 0; first <= (bits < 32 ? bits : 32); first += 5) {
            enum { COUNT = 400 };
            uint64_t dims[] = {MAX_LENGTH, MAX_LENGTH}, seed = (uint64_t)bits;
            int width[] = {first, bits - first};
            struct coo x, kept;
            struct error error = {0};
            struct coo_cleaning cleaning;
            assert_int_equal(coo_create(&x, SHAPE(2, dims), COUNT, &error), STATUS_OK);
            for (int i = 0; i < COUNT; i++) {
                for (int n = 0; n < 2; n++) {
                    uint32_t mask = (uint32_t)((UINT64_C(1) << width[n]) - 1);
                    uint32_t index = ((uint32_t)naive_random(&seed) & mask) | (0x5a5a5a5a & ~mask);
                    x.index[n][i] = index < MAX_LENGTH ? index : 0;
                }
                x.value[i] = i + 1;
            }
            assert_int_equal(coo_clean(&x, NULL, COO_DROP_ZEROS, &cleaning, &error), STATUS_OK);
            copy_coo(&kept, &x);
            round_trip(&kept);
            coo_free(&kept);
            coo_free(&x);
        }
    }
}

static void test_many_segments_whatever_the_threads(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 700, 900};
    struct coo x;
    struct external_sort_report report;
    struct error error;
    int before = omp_get_max_threads();
    char *first = NULL;
    size_t size, first_size = 0;
    naive_random_coo(&x, SHAPE(3, dims), 2 * BLCO_SEGMENT_NNZ + 5000, 1, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = 1 + (double)(i % 3);
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        assert_true(round_trip(&x) < 3.3);
        char *bytes = file_bytes(scratch_path("x.blco"), &size);
        if (first) {
            assert_int_equal(size, first_size);
            assert_memory_equal(bytes, first, size);
            free(bytes);
        } else {
            first = bytes;
            first_size = size;
        }
    }
    omp_set_num_threads(before);
    free(first);
    /* in pieces */
    struct blco_file f;
    struct coo all, piece;
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(blco_file_open(&f, scratch_path("x.blco"), &error), STATUS_OK);
    assert_int_equal(f.header->nsegments, 3);
    assert_int_equal(blco_file_nnz(&f, 0, 3), x.nnz);
    assert_int_equal(blco_file_nnz(&f, 1, 2), BLCO_SEGMENT_NNZ);
    assert_int_equal(blco_file_nnz(&f, 1, 9), x.nnz - BLCO_SEGMENT_NNZ);
    assert_int_equal(blco_file_read(&f, &all, NULL, &error), STATUS_OK);
    assert_int_equal(coo_create(&piece, SHAPE(3, dims), blco_file_nnz(&f, 1, 3), &error),
                     STATUS_OK);
    assert_int_equal(blco_file_decode(&f, 1, 3, &piece, &error), STATUS_OK);
    assert_memory_equal(piece.value, all.value + BLCO_SEGMENT_NNZ, piece.nnz * sizeof(double));
    for (int n = 0; n < 3; n++)
        assert_memory_equal(piece.index[n], all.index[n] + BLCO_SEGMENT_NNZ, piece.nnz * 4);
    blco_file_close(&f);
    coo_free(&piece);
    coo_free(&all);
    coo_free(&x);
}

/* A mean gap of g takes log2 g + 2 bits at most, a count of up to 300 nine, an arbitrary double 64;
 * a fifth of a byte is for tables, pages and alignment. */
static void test_bytes_a_nonzero(void **state)
{
    (void)state;
    static const struct {
        int order;
        uint64_t dims[MAX_ORDER];
        int gap_bits; /* of 100000 places on the line, 2^16.6 */
    } shapes[] = {
        {4, {183, 24, 1140, 1717}, 35 - 16},             /* uber     */
        {4, {6066, 5699, 244268, 1176}, 55 - 16},        /* enron    */
        {3, {12092, 9184, 28818}, 43 - 16},              /* nell-2   */
        {3, {23344784, 23344784, 166}, 58 - 16},         /* fb-m     */
        {4, {319686, 28153045, 1607191, 731}, 75 - 16},  /* flickr   */
        {4, {532924, 17262471, 2480308, 1443}, 78 - 16}, /* delicious */
    };
    uint64_t seed = 3;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct coo x;
        double line = (shapes[s].gap_bits + 2) / 8.0;
        assert_int_equal(ordering_line_bits(SHAPE(shapes[s].order, shapes[s].dims)) - 16,
                         shapes[s].gap_bits);
        naive_random_coo(&x, SHAPE(shapes[s].order, shapes[s].dims), 100000, s + 1, 1);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = (double)(naive_random(&seed) % 300 + 1);
        assert_true(round_trip(&x) <= line + 9.0 / 8 + 0.25);
        set_values(&x, 4, 0, &seed);
        assert_true(round_trip(&x) <= line + 8 + 0.25);
        coo_free(&x);
    }
}

static void test_no_nonzeros(void **state)
{
    (void)state;
    struct coo x, got;
    struct external_sort_report report;
    struct error error = {0};
    assert_int_equal(coo_create(&x, &(struct shape){2, {3, 4}}, 0, &error), STATUS_OK);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(report.nnz, 0);
    assert_int_equal(read_blco(&got, scratch_path("x.blco"), &error), STATUS_OK);
    assert_int_equal(got.nnz, 0);
    assert_int_equal(got.shape.dims[1], 4);
    coo_free(&got);
    coo_free(&x);
}

/* A file byte for byte: five nonzeros of 2 x 40 x 3 at lines 0, 6, 9, 269 and 274, of which places
 * 0, 1 and 2 are bit 0 of each mode, 3 and 4 bit 1 of modes 2 and 3, 5 to 8 the others of mode 2.
 * Fields of four bits are 0, 6, 9, 13 and 2; uppers 0, 0, 0, 16 and 17 set the bits 0, 1, 2, 19 and
 * 21. The values are 150, 250, 100, 237 and 110 hundredths, in fields of eight bits above 100. */
static void test_bytes_of_a_file(void **state)
{
    (void)state;
    static const uint32_t index[3][5] = {{0, 0, 1, 1, 0}, {0, 1, 2, 34, 33}, {0, 1, 0, 1, 2}};
    static const double value[] = {1.5, 2.5, 1, 2.37, 1.1};
    static const uint8_t segment[BLCO_SEGMENT_ALIGN] = {
        0,    0,    0,    0,   32, 0, 0, 0, /* first, at                                        */
        5,    0,    4,    1,   8,  2, 1, 0, /* count, low_bits, form, bits, decimals, upper_words */
        100,  0,    0,    0,   0,  0, 0, 0, /* least                                            */
        0,    0,    0,    0,   0,  0, 0, 0, /* line                                             */
        0x60, 0xd9, 0x02, 0,                /* lowest bits                                      */
        50,   150,  0,    137, 10, 0, 0, 0, /* values                                           */
        0x07, 0,    0x28, 0};               /* bit vector                                       */
    struct coo x;
    struct external_sort_report report;
    struct error error = {0};
    size_t size;
    assert_int_equal(coo_create(&x, &(struct shape){3, {2, 40, 3}}, 5, &error), STATUS_OK);
    for (int n = 0; n < 3; n++)
        memcpy(x.index[n], index[n], sizeof index[n]);
    memcpy(x.value, value, sizeof value);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    const struct blco_file_header *h = header_of(bytes);
    const struct blco_file_segment *s = segment_of(bytes);
    assert_int_equal(size, 2 * BLCO_PAGE + sizeof *s);
    assert_memory_equal(bytes,
                        "\x89"
                        "BLCO\r\n\x1a\4\3\2\1\3\0\0\0",
                        16);
    assert_true(h->file_bytes == size && h->nnz == 5 && h->segment_nnz == 65536 &&
                h->nsegments == 1 && h->data_offset == BLCO_PAGE && h->data_bytes == 64 &&
                h->directory_offset == 2 * BLCO_PAGE && h->order == 3 && h->unused == 0 &&
                h->unknown == 0 && h->zeros == 0 && h->dropped == 0 && h->dims[0] == 2 &&
                h->dims[1] == 40 && h->dims[2] == 3 && h->dims[3] == 0);
    assert_true(s->offset == BLCO_PAGE && s->bytes == 64 && s->ngroups == 1);
    assert_memory_equal(bytes + BLCO_PAGE, segment, sizeof segment);
    coo_free(&x);
    free(bytes);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const uint64_t dims[] = {300, 700, 50};
    struct coo x, copy, got;
    naive_random_coo(&x, SHAPE(3, dims), 2000, 1, 0);
    const char *path = scratch_path("x.blco");
    int fired = 1;
    for (long k = 0; fired; k++) {
        struct external_sort sort;
        struct external_sort_report report;
        struct error error = {0};
        unlink(path);
        copy_coo(&copy, &x);
        external_sort_init(&sort, path, 1 << 20, NULL);
        memory_hook_set(k);
        enum status status = external_sort_write(&sort, &copy, &report, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        external_sort_free(&sort);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(scratch_entries(0), fired ? 0 : 1);
        assert_null(copy.value);
    }
    fired = 1;
    for (long k = 0; fired; k++) {
        struct error error;
        memory_hook_set(k);
        enum status status = read_blco(&got, path, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_true(fired ? !got.value : !!got.value);
    }
    assert_sorted_as(&got, &x);
    coo_free(&got);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shapes_and_values, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_widths_of_lines, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_many_segments_whatever_the_threads, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_bytes_a_nonzero, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_no_nonzeros, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bytes_of_a_file, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_allocation_failures, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("blco file", tests, NULL, NULL);
}
