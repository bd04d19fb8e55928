/* Writing text: what it looks like, that it reads back exactly, and that a failure leaves nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "formats/tns/tns_writer.h"
#include "support/naive.h"

static char folder[] = "/tmp/test_tns_write.XXXXXX";
static char plain[64], packed[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(plain, sizeof plain, "%s/x.tns", folder);
    snprintf(packed, sizeof packed, "%s/x.tns.gz", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(plain);
    unlink(packed);
    return rmdir(folder);
}

/* All that the stream gives, terminated; *size without the terminator. */
static char *slurp(FILE *stream, size_t *size)
{
    size_t room = 1 << 16;
    char *text = malloc(room);
    *size = 0;
    for (size_t got = 1; got > 0; *size += got) {
        if (room - *size < 1 << 15)
            text = realloc(text, room *= 2);
        assert_non_null(text);
        got = fread(text + *size, 1, room - *size - 1, stream);
    }
    text[*size] = '\0';
    return text;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = slurp(file, size);
    fclose(file);
    return text;
}

static char *inflate(const char *path, size_t *size)
{
    char command[128];
    snprintf(command, sizeof command, "gzip -dc %s", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *text = slurp(pipe, size);
    assert_int_equal(pclose(pipe), 0);
    return text;
}

static enum status write_text(const struct coo *x, const char *path,
                              const struct tns_write_options *options,
                              struct line_writer_report *report, struct error *error)
{
    struct tns_writer w;
    if (tns_writer_open(&w, path, &x->shape, x->nnz, options, error) == STATUS_OK &&
        tns_writer_append(&w, x, error) == STATUS_OK)
        line_writer_commit(w.lines, report, error);
    line_writer_free(w.lines);
    return error->status;
}

static void write_tensor(const struct coo *x, const char *path, int base, enum tns_header header,
                         struct line_writer_report *report)
{
    struct error error = {0};
    struct tns_write_options options = {.index_base = base, .header = header};
    if (write_text(x, path, &options, report, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

static void test_layout(void **state)
{
    (void)state;
    uint32_t i[] = {0, 6, MAX_LENGTH - 1}, j[] = {2, 0, 9};
    double value[] = {1, -0.1, 2.5e-300};
    struct coo x = {{2, {MAX_LENGTH, 10}}, 3, {{{i, j}, value}}};
    static const struct {
        int base;
        enum tns_header header;
        const char *text;
    } cases[] = {
        {1, TNS_HEADER_NONE, "1 3 1\n7 1 -0.1\n4294967295 10 2.5e-300\n"},
        {0, TNS_HEADER_NONE, "0 2 1\n6 0 -0.1\n4294967294 9 2.5e-300\n"},
        {1, TNS_HEADER_DIMS, "2\n4294967295 10\n1 3 1\n7 1 -0.1\n4294967295 10 2.5e-300\n"},
        {0, TNS_HEADER_SPTENSOR,
         "sptensor\n2\n4294967295 10\n3\n0 2 1\n6 0 -0.1\n4294967294 9 2.5e-300\n"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct line_writer_report report;
        size_t size;
        write_tensor(&x, plain, cases[c].base, cases[c].header, &report);
        char *text = read_file(plain, &size);
        assert_string_equal(text, cases[c].text);
        assert_int_equal(report.text_bytes, size);
        assert_int_equal(report.file_bytes, size);
        free(text);
        write_tensor(&x, packed, cases[c].base, cases[c].header, &report);
        text = inflate(packed, &size);
        assert_string_equal(text, cases[c].text);
        assert_int_equal(report.text_bytes, size);
        free(text);
    }
}

static void test_no_nonzeros(void **state)
{
    (void)state;
    struct coo x = {.shape.order = 2, .shape.dims = {3, 4}};
    size_t size;
    write_tensor(&x, plain, 1, TNS_HEADER_NONE, NULL);
    char *text = read_file(plain, &size);
    assert_int_equal(size, 0);
    free(text);
    write_tensor(&x, packed, 1, TNS_HEADER_DIMS, NULL);
    text = inflate(packed, &size);
    assert_string_equal(text, "2\n3 4\n");
    free(text);
}

/* Every coordinate and every bit of every value, read with the C library. */
static void check_text(const struct coo *x, const char *text)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        char *end;
        for (int n = 0; n < x->shape.order; n++) {
            assert_int_equal(strtoull(text, &end, 10), x->index[n][i] + UINT64_C(1));
            assert_true(*end == ' ');
            text = end;
        }
        double value = strtod(text, &end);
        assert_memory_equal(&value, &x->value[i], sizeof value);
        assert_true(*end == '\n');
        text = end + 1;
    }
    assert_int_equal(*text, '\0');
}

static void test_round_trip_whatever_the_threads(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 70000, 9, 1200};
    struct coo x;
    naive_random_coo(&x, SHAPE(4, dims), 150000, 1, 1);
    int before = omp_get_max_threads();
    char *first[2] = {NULL, NULL};
    size_t sizes[2], size;
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        for (int gzip = 0; gzip < 2; gzip++) {
            struct line_writer_report report;
            write_tensor(&x, gzip ? packed : plain, 1, TNS_HEADER_NONE, &report);
            char *bytes = read_file(gzip ? packed : plain, &size);
            assert_int_equal(report.file_bytes, size);
            if (!first[gzip]) {
                first[gzip] = bytes;
                sizes[gzip] = size;
                continue;
            }
            assert_int_equal(size, sizes[gzip]);
            assert_memory_equal(bytes, first[gzip], size);
            free(bytes);
        }
    }
    omp_set_num_threads(before);
    check_text(&x, first[0]);
    char *inflated = inflate(packed, &size);
    assert_int_equal(size, sizes[0]);
    assert_memory_equal(inflated, first[0], size);
    assert_true(sizes[1] < sizes[0] / 2 + sizes[0] / 4);
    free(inflated);
    free(first[0]);
    free(first[1]);
    coo_free(&x);
}

/* The tensor in pieces: the same file as at once. */
static void test_pieces(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 70000, 9};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 3 * TNS_WRITE_PIECE + 100, 1, 0);
    for (int gzip = 0; gzip < 2; gzip++) {
        const char *path = gzip ? packed : plain;
        struct tns_write_options options = {.index_base = 1, .header = TNS_HEADER_SPTENSOR};
        struct line_writer_report report, other;
        struct error error = {0};
        size_t size, other_size;
        write_tensor(&x, path, 1, TNS_HEADER_SPTENSOR, &report);
        char *bytes = read_file(path, &size);
        struct tns_writer w;
        assert_int_equal(tns_writer_open(&w, path, &x.shape, x.nnz, &options, &error), STATUS_OK);
        for (uint64_t begin = 0; begin < x.nnz; begin += 2 * TNS_WRITE_PIECE) {
            struct coo piece = x;
            uint64_t left = x.nnz - begin;
            piece.nnz = left < 2 * TNS_WRITE_PIECE ? left : 2 * TNS_WRITE_PIECE;
            piece.value += begin;
            for (int n = 0; n < x.shape.order; n++)
                piece.index[n] += begin;
            assert_int_equal(tns_writer_append(&w, &piece, &error), STATUS_OK);
        }
        assert_int_equal(line_writer_commit(w.lines, &other, &error), STATUS_OK);
        line_writer_free(w.lines);
        char *others = read_file(path, &other_size);
        assert_int_equal(size, other_size);
        assert_memory_equal(bytes, others, size);
        assert_memory_equal(&report, &other, sizeof report);
        free(bytes);
        free(others);
    }
    coo_free(&x);
}

/* A file that may not grow: as on a full disk, but only in this process. */
static void test_full_disk(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 70000, 9};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 200000, 1, 0);
    unlink(plain);
    unlink(packed);
    struct rlimit limit, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    for (int gzip = 0; gzip < 2; gzip++) {
        const char *path = gzip ? packed : plain;
        struct tns_write_options options = {.index_base = 1};
        struct error error = {0};
        setrlimit(RLIMIT_FSIZE, &small);
        enum status status = write_text(&x, path, &options, NULL, &error);
        setrlimit(RLIMIT_FSIZE, &limit);
        assert_int_equal(status, STATUS_OUTPUT);
        assert_non_null(strstr(error.message, path));
        assert_int_equal(access(path, F_OK), -1);
    }
    signal(SIGXFSZ, SIG_DFL);
    coo_free(&x);
}

static void test_refused_paths(void **state)
{
    (void)state;
    struct coo x = {.shape.order = 1, .shape.dims = {3}};
    struct tns_write_options options = {.index_base = 1};
    char missing[96];
    snprintf(missing, sizeof missing, "%s/none/x.tns", folder);
    struct error error = {0};
    assert_int_equal(write_text(&x, missing, &options, NULL, &error), STATUS_OUTPUT);
    assert_non_null(strstr(error.message, missing));
    error = (struct error){0};
    assert_int_equal(write_text(&x, folder, &options, NULL, &error), STATUS_OUTPUT);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    uint32_t i[] = {0, 2};
    double value[] = {1, 2};
    struct coo x = {{1, {3}}, 2, {{{i}, value}}};
    struct tns_write_options options = {.index_base = 1};
    for (int gzip = 0; gzip < 2; gzip++) {
        const char *path = gzip ? packed : plain;
        int fired = 1;
        for (long k = 0; fired; k++) {
            struct error error = {0};
            unlink(path);
            memory_hook_set(k);
            enum status status = write_text(&x, path, &options, NULL, &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            assert_int_equal(access(path, F_OK), fired ? -1 : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_no_nonzeros),
        cmocka_unit_test(test_round_trip_whatever_the_threads),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_refused_paths),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
