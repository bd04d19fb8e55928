/* Files that are damaged, in every way that a checksum finds and in those that it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/value_codec.h"
#include "support/damaged_blco.h"

static void test_every_flipped_bit_is_found(void **state)
{
    (void)state;
    size_t size;
    char *bytes = small_file(&size);
    for (size_t i = 0; i < size; i++) {
        int bit = (int)(i % 8);
        bytes[i] = (char)(bytes[i] ^ 1 << bit);
        assert_refused(bytes, size, "");
        bytes[i] = (char)(bytes[i] ^ 1 << bit);
    }
    for (size_t i = 0; i < sizeof(struct blco_file_header); i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
            assert_refused(bytes, size, "");
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
        }
    }
    free(bytes);
}

static void test_every_truncation_is_found(void **state)
{
    (void)state;
    size_t size;
    char *bytes = small_file(&size);
    for (size_t length = 0; length < size; length++)
        assert_refused(bytes, length, length < BLCO_MAGIC_BYTES ? "not a .blco file" : "cut off");
    bytes = realloc(bytes, size + 1);
    assert_non_null(bytes);
    bytes[size] = 0;
    assert_refused(bytes, size + 1, "file_bytes is");
    free(bytes);
}

static void test_other_versions_and_machines(void **state)
{
    (void)state;
    size_t size;
    char *bytes = small_file(&size);
    const char *newer = "version 4 of the format, but this blco reads version 3 only";
    header_of(bytes)->version = 4;
    assert_refused(bytes, size, newer);
    sign(bytes, size);
    assert_refused(bytes, size, newer);
    header_of(bytes)->version = 2;
    sign(bytes, size);
    assert_refused(bytes, size, "version 2 of the format, but this blco reads version 3 only");
    header_of(bytes)->version = 3;
    header_of(bytes)->byte_order = __builtin_bswap32(BLCO_BYTE_ORDER);
    assert_refused(bytes, size, "another byte order");
    free(bytes);
}

/* Nonsense in headers and directories whose checksums are right. */
static void test_contradictions(void **state)
{
    (void)state;
    size_t size;
    char *good = small_file(&size), *bytes = malloc(size);
    assert_non_null(bytes);
    struct blco_file_header *h = header_of(bytes);
    for (int c = 0; c < 21; c++) {
        memcpy(bytes, good, size);
        struct blco_file_segment *s = segment_of(bytes);
        switch (c) {
        case 0:
            h->order = 0;
            break;
        case 1:
            h->order = MAX_ORDER + 1;
            break;
        case 2:
            h->dims[1] = 0;
            break;
        case 3:
            h->dims[0] = UINT64_C(1) << 32;
            break;
        case 4:
            h->nnz = MAX_NNZ + 1;
            break;
        case 5:
            h->nnz = 0;
            break;
        case 6:
            h->nnz += BLCO_SEGMENT_NNZ;
            break;
        case 7:
            h->segment_nnz = 0;
            break;
        case 8:
            h->segment_nnz = BLCO_SEGMENT_NNZ / 2;
            break;
        case 9:
            h->nsegments = 2;
            break;
        case 10:
            h->data_offset = 0;
            break;
        case 11:
            h->data_bytes = UINT64_MAX;
            break;
        case 12:
            h->data_bytes += BLCO_PAGE;
            break;
        case 13:
            h->directory_offset += 8;
            break;
        case 14:
            h->file_bytes--;
            break;
        case 15:
            s->offset += 64;
            break;
        case 16:
            s->bytes -= 64;
            break;
        case 17:
            s->bytes += 64;
            break;
        case 18:
            h->nnz++;
            break;
        case 19:
            h->nnz--;
            break;
        case 20: /* the directory would not be aligned */
            h->data_bytes--;
            break;
        }
        sign(bytes, size);
        assert_refused(bytes, size,
                       c < 5                           ? "in the header, expected"
                       : (c < 18 && c != 5) || c == 20 ? "contradicts"
                                                       : "");
    }
    free(bytes);
    free(good);
}

/* A wrong whole number that is stored in an entry of the table of groups, in the line of the entry,
 * or in the last word of the group. */
struct nonsense {
    int where; /* 0: the entry, 1: its line, 2: the last word */
    size_t at, size;
    uint64_t number;
};

#define AT(member) 0, offsetof(struct packed_group, member), sizeof((struct packed_group){0}.member)

/* Nonsense in groups of a segment whose checksum is right. */
static void test_bad_groups(void **state)
{
    (void)state;
    static const struct nonsense bad[] = {
        {AT(first), 1},
        {AT(at), 4},
        {AT(at), 1 << 20},
        {AT(at), UINT32_MAX - 3},
        {AT(count), 0},
        {AT(count), 39},
        {AT(count), 41},
        {AT(count), PACKED_GROUP_NNZ + 1},
        {AT(low_bits), 20},
        {AT(low_bits), 53},
        {AT(low_bits), 128},
        {AT(low_bits), 255},
        {AT(value_form), PACKED_CONSTANT},
        {AT(value_form), PACKED_WHOLE},
        {AT(value_form), PACKED_F32},
        {AT(value_form), PACKED_FORMS},
        {AT(value_bits), 63},
        {AT(value_bits), 65},
        {AT(decimals), 1},
        {AT(least), 1},
        {AT(upper_words), 0},
        {AT(upper_words), 1},
        {AT(upper_words), PACKED_UPPER_WORDS + 1},
        {AT(upper_words), 255},
        {AT(unused), 1},
        {1, 0, 8, 1},                 /* of the bits that fields have */
        {1, 0, 8, UINT64_C(1) << 53}, /* beyond the line              */
        {1, 0, 8, UINT64_MAX << 48},
        {2, 0, 4, 0}, /* one bit less, one more       */
        {2, 0, 4, UINT32_MAX},
    };
    size_t size;
    char *good = small_file(&size), *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t c = 0; c < sizeof bad / sizeof *bad; c++) {
        memcpy(bytes, good, size);
        char *entry = bytes + segment_of(bytes)->offset;
        struct packed_group g;
        memcpy(&g, entry, sizeof g);
        assert_true(g.count == 40 && g.value_form == PACKED_F64 && g.upper_words > 1);
        size_t last = g.at + blco_group_words(&g) * sizeof(uint32_t) - sizeof(uint32_t);
        size_t from = bad[c].where == 2 ? last : bad[c].where ? sizeof g : 0;
        memcpy(entry + from + bad[c].at, &bad[c].number, bad[c].size);
        sign(bytes, size);
        assert_refused(bytes, size, "contradict its tables");
    }
    static const uint32_t groups[] = {0, 2, 100, UINT32_MAX};
    for (int c = 0; c < 4; c++) {
        memcpy(bytes, good, size);
        segment_of(bytes)->ngroups = groups[c];
        sign(bytes, size);
        assert_refused(bytes, size,
                       c == 1 ? "contradict its tables"
                              : "entry 1 of the directory contradicts the header");
    }
    free(bytes);
    free(good);
}

/* The same of values: how far a whole number may go. */
static void test_bad_whole_numbers(void **state)
{
    (void)state;
    static const struct nonsense bad[] = {{AT(decimals), PACKED_DECIMALS + 1},
                                          {AT(value_bits), 56},
                                          {AT(value_bits), 255},
                                          {AT(least), UINT64_C(1) << 63},
                                          {AT(least), (UINT64_C(1) << 53) + 1},
                                          {AT(least), UINT64_MAX - (UINT64_C(1) << 53)}};
    size_t size;
    struct coo x;
    struct external_sort_report report;
    struct error error;
    naive_random_coo(&x, &(struct shape){2, {300, 20}}, 100, 1, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = (double)i + 1;
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    char *entry = bytes + segment_of(bytes)->offset;
    assert_int_equal(((struct packed_group *)(void *)entry)->value_form, PACKED_WHOLE);
    for (size_t c = 0; c < sizeof bad / sizeof *bad; c++) {
        struct packed_group kept;
        memcpy(&kept, entry, sizeof kept);
        memcpy(entry + bad[c].at, &bad[c].number, bad[c].size);
        sign(bytes, size);
        assert_refused(bytes, size, "contradict its tables");
        memcpy(entry, &kept, sizeof kept);
    }
    free(bytes);
}

/* A coordinate that is not below its mode's length is found when it is decoded. */
static void test_coordinates_beyond_their_modes(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++) {
        struct coo x;
        struct external_sort_report report;
        struct error error;
        size_t size;
        uint64_t dims[] = {300, 400, 500}, beyond = 0;
        naive_random_coo(&x, SHAPE(3, dims), 3000, 1, 0);
        assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
        for (uint64_t i = 0; i < x.nnz; i++)
            beyond = x.index[n][i] > beyond ? x.index[n][i] : beyond;
        char *bytes = file_bytes(scratch_path("x.blco"), &size);
        assert_true(beyond > 257);
        header_of(bytes)->dims[n] = beyond;
        sign(bytes, size);
        assert_refused(bytes, size, "contradict its tables");
        free(bytes);
        coo_free(&x);
    }
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    assert_int_equal(read_blco(&x, scratch_path("absent.blco"), &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "absent.blco"));
    assert_int_equal(read_blco(&x, scratch_folder, &error), STATUS_INPUT);
    assert_refused("1 1 1\n", 6, "not a .blco file");
}

/* The message is about the first damaged segment, whichever thread finds it. */
static void test_first_damage_is_named(void **state)
{
    (void)state;
    static const uint64_t dims[] = {300000, 700};
    struct coo x;
    struct external_sort_report report;
    struct error error;
    size_t size;
    naive_random_coo(&x, SHAPE(2, dims), 4 * BLCO_SEGMENT_NNZ, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    for (int s = 1; s < 4; s++)
        bytes[segment_of(bytes)[s].offset + 1000] ^= 1;
    for (int k = 0; k < 10; k++)
        assert_refused(bytes, size, "the checksum of nonzeros from number 65537 on is wrong");
    free(bytes);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_flipped_bit_is_found, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_every_truncation_is_found, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_other_versions_and_machines, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_contradictions, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad_groups, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad_whole_numbers, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_coordinates_beyond_their_modes, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_files_that_cannot_be_read, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_first_damage_is_named, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("damaged blco files", tests, NULL, NULL);
}
