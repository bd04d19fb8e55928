/* Reading FROSTT text: the entries that a parser with sscanf finds, from every style, header and
 * cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/memory.h"
#include "support/tns_files.h"

static void reads_what_sscanf_reads(void **state)
{
    (void)state;
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {1 << 20, 1}, {1 << 20, 50},
                                             {1000, 1},          {1000, 100},  {5000, 333}};
    uint64_t seed = 1;
    for (int round = 0; round < 64; round++) {
        int order = round % MAX_ORDER + 1, base = round % 3 != 0;
        struct tns_options options = {.index_base = base};
        char *text = random_text(order, 20 + 10 * round, base, &seed);
        size_t size = strlen(text), half = size / 2;
        uint8_t *gzip = malloc(size + 3000);
        assert_non_null(gzip);
        struct entries expected;
        naive_parse(text, (uint32_t)base, &expected);
        for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
            bool compressed = i % 2;
            if (compressed) { /* two members, the border anywhere in a line, and padding */
                size_t first = compress_text(text, half, gzip);
                size_t both = first + compress_text(text + half, size - half, gzip + first);
                memset(gzip + both, 0, 100);
                write_file(gzip, both + (i % 4 == 1 ? 100 : 0));
            } else {
                write_file(text, size);
            }
            struct coo x;
            struct tensor_reader report;
            struct error error;
            if (read_file(&x, &options, &sizes[i / 2], &report, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            assert_entries(&x, &expected);
            assert_int_equal(report.entries, expected.count);
            assert_int_equal(report.bytes, size);
            assert_int_equal(report.gzip, compressed);
            assert_int_equal(report.header, TNS_HEADER_NONE);
            coo_free(&x);
        }
        free_entries(&expected);
        free(gzip);
        free(text);
    }
}

/* The entries of the text with these options are the same as those of `plain` without a header. */
static void assert_reads_as(const char *text, const struct tns_options *options, const char *plain,
                            enum tns_header header, const uint64_t *dims)
{
    struct entries expected;
    naive_parse(plain, (uint32_t)options->index_base, &expected);
    if (dims)
        memcpy(expected.dims, dims, (size_t)expected.order * sizeof *dims);
    for (size_t section = 1; section < 100; section *= 3) {
        struct tns_sizes sizes = {100, section};
        struct coo x;
        struct tensor_reader report;
        struct error error;
        write_file(text, strlen(text));
        if (read_file(&x, options, &sizes, &report, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        assert_entries(&x, &expected);
        assert_int_equal(report.header, header);
        coo_free(&x);
    }
    free_entries(&expected);
}

/* Words for values that nobody knows, between other entries, as the only one and as the last. */
static void reads_unknown_entries(void **state)
{
    (void)state;
    static const char *const words[] = {"nan", "NaN", "NAN", "-nan", "+nan", "-NaN", "na", "NA"};
    static const char *const texts[] = {"1 2 %s\n", "1 2 7\n 3\t4 %s\t\r\n5 6 .5", "1 1 -2\n9 9 %s",
                                        "# first\n1 1 %s # why\n1 2 %s\n", "2\n9 9\n1 2 %s\n"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            char text[100];
            struct coo x;
            struct tensor_reader report;
            struct error error;
            uint64_t unknown = 0;
            const double expected = COO_UNKNOWN;
            snprintf(text, sizeof text, texts[t], words[w], words[w]);
            write_file(text, strlen(text));
            if (read_file(&x, &one_based, &(struct tns_sizes){100, 1}, &report, &error) !=
                STATUS_OK)
                fail_msg("%s: %s", text, error.message);
            for (uint64_t i = 0; i < x.nnz; i++)
                unknown += memcmp(&x.value[i], &expected, sizeof expected) == 0;
            assert_int_equal(unknown, t == 3 ? 2 : 1);
            assert_int_equal(coo_count_listed(&x).unknown, unknown);
            coo_free(&x);
        }
}

static void header_dialects(void **state)
{
    (void)state;
    const uint64_t dims[] = {4, 5, 6};
    const char *plain = "1 2 3 1.5\n4 1 1 -2\n";
    struct tns_options zero_based = {.index_base = 0};
    struct tns_options given = {.index_base = 1, .ndims = 3, .dims = {4, 5, 6}};
    assert_reads_as(plain, &one_based, plain, TNS_HEADER_NONE, NULL);
    assert_reads_as(plain, &given, plain, TNS_HEADER_NONE, dims);
    const struct tns_options some = {.index_base = 1, .ndims = 3, .dims = {0, 5, 0}};
    assert_reads_as(plain, &some, plain, TNS_HEADER_NONE, (const uint64_t[]){4, 5, 3});
    assert_reads_as("3\n4 9 6\n1 2 3 1.5\n4 1 1 -2\n", &some, plain, TNS_HEADER_DIMS, dims);
    assert_reads_as("3\n4 5 6\n1 2 3 1.5\n4 1 1 -2\n", &one_based, plain, TNS_HEADER_DIMS, dims);
    assert_reads_as("# c\n\n 3 # modes\r\n\n4\t5 6 \n#\n1 2 3 1.5\n\n4 1 1 -2", &one_based, plain,
                    TNS_HEADER_DIMS, dims);
    assert_reads_as("sptensor\n3\n4 5 6\n2\n1 2 3 1.5\n4 1 1 -2\n", &one_based, plain,
                    TNS_HEADER_SPTENSOR, dims);
    assert_reads_as("SPTensor\r\n3 \r\n4 5 6 \r\n2 \r\n1 2 3 1.5\r\n4 1 1 -2\r\n", &one_based,
                    plain, TNS_HEADER_SPTENSOR, dims);
    assert_reads_as("sptensor\n3\n4 5 6\n2\n0 4 5 1.5\n3 0 0 -2\n", &zero_based,
                    "0 4 5 1.5\n3 0 0 -2\n", TNS_HEADER_SPTENSOR, dims);
    assert_reads_as("3\n2 2 2\n1 2 3 1.5\n4 1 1 -2\n", &given, plain, TNS_HEADER_DIMS, dims);
    assert_reads_as("1\n7\n3 1\n", &one_based, "3 1\n", TNS_HEADER_DIMS, (const uint64_t[]){7});
}

/* Entries without values are read as unknown ones, where that is allowed. */
static void values_may_be_left_out(void **state)
{
    (void)state;
    const uint64_t dims[] = {4, 5, 6};
    const char *plain = "1 2 3 nan\n4 1 1 nan\n1 2 3 nan\n", *full = "1 2 3 1.5\n4 1 1 -2\n";
    const struct tns_options given = {.index_base = 1,
                                      .ndims = 3,
                                      .dims = {4, 5, 6},
                                      .order_origin = "the model",
                                      .values_optional = true};
    assert_reads_as("1 2 3\n4 1 1\n1 2 3\n", &given, plain, TNS_HEADER_NONE, dims);
    assert_reads_as("# c\n\n 1 2\t 3 \r\n4 1 1# c\n\n\n1 2 3", &given, plain, TNS_HEADER_NONE,
                    dims);
    assert_reads_as("3\n4 5 6\n1 2 3\n4 1 1\n1 2 3\n", &given, plain, TNS_HEADER_DIMS, dims);
    assert_reads_as("sptensor\n3\n4 5 6\n3\n1 2 3\n4 1 1\n1 2 3\n", &given, plain,
                    TNS_HEADER_SPTENSOR, dims);
    assert_reads_as(full, &given, full, TNS_HEADER_NONE, dims);
    assert_reads_as("3\n9 9 9\n\n1 2 3 1.5\n4 1 1 -2\n", &given, full, TNS_HEADER_DIMS, dims);

    struct tns_options single = given;
    single.ndims = 1;
    assert_reads_as("1\n4\n3\n", &single, "1 nan\n4 nan\n3 nan\n", TNS_HEADER_NONE, dims);
    assert_reads_as("1 7\n4 8\n", &single, "1 7\n4 8\n", TNS_HEADER_NONE, dims);
    assert_reads_as("sptensor\n1\n4\n2\n1\n4\n", &single, "1 nan\n4 nan\n", TNS_HEADER_SPTENSOR,
                    dims);
    struct tns_options widest = {
        .ndims = MAX_ORDER, .order_origin = "the model", .values_optional = true};
    for (int n = 0; n < MAX_ORDER; n++)
        widest.dims[n] = MAX_LENGTH;
    assert_reads_as("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 4294967294\n", &widest,
                    "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 4294967294 nan\n", TNS_HEADER_NONE,
                    widest.dims);
}

static void limits_are_accepted(void **state)
{
    (void)state;
    struct tns_options zero_based = {.index_base = 0};
    assert_reads_as("4294967295 1 1\n", &one_based, "4294967295 1 1\n", TNS_HEADER_NONE, NULL);
    assert_reads_as("4294967294 0 1\n", &zero_based, "4294967294 0 1\n", TNS_HEADER_NONE, NULL);
    const char *widest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1.7976931348623157e308\n";
    assert_reads_as(widest, &one_based, widest, TNS_HEADER_NONE, NULL);
    const char *values = "1 0\n1 -0.0\n1 5e-324\n1 1e-999\n1 .5\n1 5.\n1 +1E+2\n1 "
                         "123456789012345678901234567890\n1 999999999999999\n1 9999999999999999\n";
    assert_reads_as(values, &one_based, values, TNS_HEADER_NONE, NULL);
}

static void reads_from_pipes(void **state)
{
    (void)state;
    const char *text = "1 2 3\n4 5 6\n";
    uint8_t gzip[2000];
    size_t size = compress_text(text, strlen(text), gzip);
    for (int compressed = 0; compressed < 2; compressed++) {
        int end[2], before = dup(STDIN_FILENO);
        assert_int_equal(pipe(end), 0);
        assert_true(write(end[1], compressed ? (const void *)gzip : text,
                          compressed ? size : strlen(text)) > 0);
        close(end[1]);
        assert_true(dup2(end[0], STDIN_FILENO) >= 0);
        close(end[0]);
        struct coo x;
        struct tensor_reader report = {.path = "-", .tns = &one_based};
        struct error error = {0};
        assert_int_equal(read_whole(&x, NULL, &report, &error), STATUS_OK);
        dup2(before, STDIN_FILENO);
        close(before);
        assert_int_equal(x.nnz, 2);
        assert_int_equal(x.index[1][1], 4);
        assert_int_equal(report.gzip, compressed);
        coo_free(&x);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    uint64_t seed = 9;
    char *text = random_text(3, 300, 1, &seed);
    size_t size = strlen(text) - (text[strlen(text) - 1] == '\n');
    uint8_t *gzip = malloc(size + 1000);
    assert_non_null(gzip);
    static const struct tns_sizes sizes = {2000, 100};
    struct entries expected;
    naive_parse(text, 1, &expected);
    for (int compressed = 0; compressed < 2; compressed++) {
        if (compressed)
            write_file(gzip, compress_text(text, size, gzip));
        else
            write_file(text, size);
        long k = 0, refused = 0;
        for (bool fired = true; fired; k++) {
            struct coo x;
            struct tensor_reader report;
            struct error error;
            memory_hook_set(k);
            enum status status = read_file(&x, &one_based, &sizes, &report, &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            if (status == STATUS_OK) { /* giving memory back may fail without harm */
                assert_entries(&x, &expected);
            } else {
                assert_true(fired);
                assert_int_equal(status, STATUS_MEMORY);
                assert_null(x.value);
                refused++;
            }
            coo_free(&x);
        }
        assert_true(refused > (compressed ? 10 : 5)); /* room grows where the file is all read */
    }
    free_entries(&expected);
    free(gzip);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_sscanf_reads), cmocka_unit_test(reads_unknown_entries),
        cmocka_unit_test(header_dialects),         cmocka_unit_test(limits_are_accepted),
        cmocka_unit_test(reads_from_pipes),        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(values_may_be_left_out),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
