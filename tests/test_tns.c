#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>

#include "memory.h"
#include "naive.h"
#include "tns.h"
#include "tns_sizes.h"

#define DATA "tests/data/"

static const struct tns_sizes usual = {1 << 20, 1 << 16};
static const struct tns_options one_based = {.index_base = 1};
static char folder[] = "/tmp/test_tns_XXXXXX";
static char path[64]; /* of the file that write_file wrote */

/* --- files -------------------------------------------------------------------------------------
 */

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* One gzip member of the text into out (room for size + 1000 bytes); how many bytes it has. */
static size_t compress_text(const char *text, size_t size, uint8_t *out)
{
    struct isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)(uintptr_t)text;
    stream.avail_in = (uint32_t)size;
    stream.next_out = out;
    stream.avail_out = (uint32_t)size + 1000;
    assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
    return stream.total_out;
}

static enum status read_file(struct coo *x, const struct tns_options *options,
                             const struct tns_sizes *sizes, struct tns_report *report,
                             struct error *error)
{
    *error = (struct error){0};
    return tns_read_sized(x, path, options, sizes, NULL, report, error);
}

/* --- the oracle --------------------------------------------------------------------------------
 */

struct entries {
    int order;
    size_t count;
    uint64_t dims[MAX_ORDER];
    uint32_t (*index)[MAX_ORDER]; /* (room) */
    double *value;                /* (room) */
};

/* Entries of headerless text, by sscanf, a line after the other. */
static void naive_parse(const char *text, uint32_t base, struct entries *e)
{
    size_t lines = 1;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    *e = (struct entries){.index = malloc(lines * sizeof *e->index),
                          .value = malloc(lines * sizeof *e->value)};
    assert_true(e->index && e->value);
    while (*text) {
        char line[1000], word[MAX_ORDER + 2][100];
        size_t length = strcspn(text, "\n");
        assert_true(length < sizeof line);
        memcpy(line, text, length);
        line[length] = '\0';
        text += length + (text[length] == '\n');
        line[strcspn(line, "#")] = '\0';
        int words = 0, used = 0;
        for (char *p = line; sscanf(p, "%99s%n", word[words], &used) == 1; p += used)
            words++;
        if (words == 0)
            continue;
        e->order = words - 1;
        for (int n = 0; n < e->order; n++) {
            unsigned long long index = strtoull(word[n], NULL, 10) - base;
            e->index[e->count][n] = (uint32_t)index;
            if (index + 1 > e->dims[n])
                e->dims[n] = index + 1;
        }
        e->value[e->count++] = strtod(word[words - 1], NULL);
    }
}

static void assert_entries(const struct coo *x, const struct entries *e)
{
    assert_int_equal(x->order, e->order);
    assert_int_equal(x->nnz, e->count);
    for (int n = 0; n < e->order; n++)
        assert_int_equal(x->dims[n], e->dims[n]);
    for (size_t i = 0; i < e->count; i++) {
        for (int n = 0; n < e->order; n++)
            if (x->index[n][i] != e->index[i][n])
                fail_msg("entry %zu, mode %d: %u, expected %u", i, n, x->index[n][i],
                         e->index[i][n]);
        assert_memory_equal(&x->value[i], &e->value[i], sizeof(double));
    }
}

static void free_entries(struct entries *e)
{
    free(e->index);
    free(e->value);
}

/* Text of `lines` lines in every style that people use; the caller frees it. */
static char *random_text(int order, int lines, int base, uint64_t *seed)
{
    char *text = malloc((size_t)lines * 700 + 1), *p = text;
    assert_non_null(text);
    static const char *const blank[] = {" ", " ", " ", "\t", "  ", " \t "};
    static const char *const format[] = {"%.0f", "%.17g", "%g", "%.3f", "%e", "%.25f", "+%.0f"};
    for (int i = 0; i < lines; i++) {
        uint64_t style = naive_random(seed) % 16;
        if (style == 0)
            p += sprintf(p, "# %d comment 1 2 3", i);
        if (style == 1 && naive_random(seed) % 2)
            p += sprintf(p, "  \t");
        if (style == 2)
            p += sprintf(p, " ");
        for (int n = 0; n < order && style > 1; n++) {
            unsigned bits = (unsigned)(naive_random(seed) % 4) * 8 + 7;
            uint64_t index = naive_random(seed) % ((UINT64_C(1) << bits) - 1);
            p += sprintf(p, style == 3 ? "%012llu%s" : "%llu%s",
                         (unsigned long long)index + (unsigned)base, blank[naive_random(seed) % 6]);
        }
        double value = (double)(int64_t)naive_random(seed) * 0x1p-50;
        if (style > 1)
            p += sprintf(p, format[naive_random(seed) % 6 + (value > 0)], value);
        if (style == 4)
            p += sprintf(p, " # trailing");
        if (style == 5)
            p += sprintf(p, "  ");
        p += sprintf(p, style == 6 ? "\r\n" : "\n");
    }
    if (naive_random(seed) % 2)
        *--p = '\0'; /* no newline at the end */
    return text;
}

/* --- what is right -----------------------------------------------------------------------------
 */

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
            struct tns_report report;
            struct error error;
            if (read_file(&x, &options, &sizes[i / 2], &report, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            assert_entries(&x, &expected);
            assert_int_equal(report.entries, expected.count);
            assert_int_equal(report.text_bytes, size);
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
    for (size_t chunk = 1; chunk < 100; chunk *= 3) {
        struct tns_sizes sizes = {100, chunk};
        struct coo x;
        struct tns_report report;
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

static void header_dialects(void **state)
{
    (void)state;
    const uint64_t dims[] = {4, 5, 6};
    const char *plain = "1 2 3 1.5\n4 1 1 -2\n";
    struct tns_options zero_based = {.index_base = 0};
    struct tns_options given = {.index_base = 1, .ndims = 3, .dims = {4, 5, 6}};
    assert_reads_as(plain, &one_based, plain, TNS_HEADER_NONE, NULL);
    assert_reads_as(plain, &given, plain, TNS_HEADER_NONE, dims);
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
        struct tns_report report;
        struct error error = {0};
        assert_int_equal(tns_read(&x, "-", &one_based, NULL, &report, &error), STATUS_OK);
        dup2(before, STDIN_FILENO);
        close(before);
        assert_int_equal(x.nnz, 2);
        assert_int_equal(x.index[1][1], 4);
        assert_int_equal(report.gzip, compressed);
        coo_free(&x);
    }
}

/* A bad line is reported although whoever writes the pipe neither goes on nor closes it. */
static void does_not_wait_for_a_silent_pipe(void **state)
{
    (void)state;
    int end[2];
    assert_int_equal(pipe(end), 0);
    static char text[300001];
    memset(text, '\n', 300000);
    memcpy(text, "1 x 3\n", 6);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(end[0]);
        ssize_t written = write(end[1], text, 300000);
        pause();
        _exit(written < 0);
    }
    close(end[1]);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", end[0]);
    struct coo x;
    struct tns_report report;
    struct error error = {0};
    struct tns_sizes sizes = {100000, 1000};
    assert_int_equal(tns_read_sized(&x, name, &one_based, &sizes, NULL, &report, &error),
                     STATUS_INPUT);
    assert_non_null(strstr(error.message, ":1: mode 2: index 'x', expected a whole number"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(end[0]);
}

/* --- what is wrong -----------------------------------------------------------------------------
 */

/* Reading `name` fails with this message behind the name. */
static void assert_refused(const char *name, const struct tns_options *options,
                           const struct tns_sizes *sizes, const char *message)
{
    struct coo x;
    memset(&x, 0xff, sizeof x);
    struct tns_report report;
    struct error error = {0};
    assert_int_equal(tns_read_sized(&x, name, options, sizes, NULL, &report, &error), STATUS_INPUT);
    assert_memory_equal(error.message, name, strlen(name));
    assert_string_equal(error.message + strlen(name), message);
    assert_null(x.value);
    assert_int_equal(x.nnz, 0);
}

static void refuses_bad_files(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"bad_columns_few", ":3: 3 columns, expected 4: 3 indices and a value, as line 1 says"},
        {"bad_columns_many", ":2: 5 columns, expected 4: 3 indices and a value, as line 1 says"},
        {"bad_cut_off", ":3: the last line is cut off: 2 columns, expected 4: 3 indices and a "
                        "value, as line 1 says"},
        {"bad_order", ":1: 18 columns, expected at most 17: 16 indices and a value"},
        {"bad_commas", ":1: '1,2,3,4.5', expected indices and a value with blanks between them, "
                       "or a header"},
        {"bad_letters", ":2: mode 2: index 'x', expected a whole number"},
        {"bad_index_fraction", ":2: mode 3: index '1.5', expected a whole number"},
        {"bad_index_zero",
         ":3: mode 2: index 0, expected 1 or more (--index-base 0 for zero-based files)"},
        {"bad_index_negative", ":2: mode 1: index -3, expected 1 or more"},
        {"bad_index_limit", ":2: mode 3: index 4294967296, expected at most 4294967295"},
        {"bad_index_beyond", ":4: mode 2: index 3, expected at most 2, as the header says"},
        {"bad_value_letters", ":2: value '1.5x', expected a number"},
        {"bad_value_inf", ":2: value '-inf', expected a finite number"},
        {"bad_value_nan", ":1: value 'NaN', expected a finite number"},
        {"bad_value_overflow", ":2: value '1e999', expected a finite number"},
        {"bad_binary", ":2: mode 1: index '\\x00\\xffELF\\x01', expected a whole number"},
        {"bad_long_token", ":2: mode 2: index '1234567890123456789012345678901234567890...', "
                           "expected a whole number"},
        {"bad_header_order", ":1: '17', expected the header's number of modes, 1 to 16"},
        {"bad_header_columns", ":2: 2 columns, expected the header's 3 lengths"},
        {"bad_header_length", ":2: mode 3: length '0', expected 1 to 4294967295"},
        {"bad_header_count", ":4: 'many', expected the header's number of entries"},
        {"bad_header_only", ": no entries behind the header"},
        {"bad_header_cut_off", ": ends within the header, expected its number of entries"},
        {"bad_sptensor_count", ": 2 entries, expected 3, as the header says"},
        {"bad_empty", ": is empty"},
        {"bad_comments_only", ": no entries: nothing but comments and blank lines"},
        {"bad_gzip_cut_off", ": damaged gzip: the file is cut off"},
        {"bad_gzip_checksum", ": damaged gzip: the checksum does not match"},
        {"bad_gzip_data", ": damaged gzip: invalid compressed data"},
        {"bad_gzip_header", ": damaged gzip: invalid header"},
        {"bad_gzip_tail", ": damaged gzip: something else follows the compressed data"},
        {"bad_gzip_line", ":3: mode 2: index 'x', expected a whole number"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[100];
        snprintf(name, sizeof name, DATA "%s.tns", files[i][0]);
        struct tns_sizes tiny = {200, 1};
        assert_refused(name, &one_based, &usual, files[i][1]);
        assert_refused(name, &one_based, &tiny, files[i][1]);
    }
}

static void refuses_what_the_options_exclude(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        struct tns_options options;
    } cases[] = {
        {"1 2 1\n1 3 1\n",
         ":2: mode 2: index 3, expected at most 2, as --dims says",
         {.index_base = 1, .ndims = 2, .dims = {2, 2}}},
        {"0 1 1\n0 2 1\n",
         ":2: mode 2: index 2, expected at most 1, as --dims says",
         {.index_base = 0, .ndims = 2, .dims = {2, 2}}},
        {"1 2 1\n",
         ": 2 modes, as line 1 says, but --dims gives 3",
         {.index_base = 1, .ndims = 3, .dims = {2, 2, 2}}},
        {"1\n5\n1 1\n",
         ": 1 mode, as the header says, but --dims gives 2",
         {.index_base = 1, .ndims = 2, .dims = {2, 2}}},
        {"0 -1 1\n", ":1: mode 2: index -1, expected 0 or more", {.index_base = 0}},
        {"0 4294967295 1\n",
         ":1: mode 2: index 4294967295, expected at most 4294967294",
         {.index_base = 0}},
        {"1 99999999999999999999999999 1\n",
         ":1: mode 2: index 99999999999999999999999999, expected at most 4294967295",
         {.index_base = 1}},
        {"1 +1 1\n", ":1: mode 2: index '+1', expected a whole number", {.index_base = 1}},
        {"1 - 1\n", ":1: mode 2: index '-', expected a whole number", {.index_base = 1}},
        {"1 1e2 1\n", ":1: mode 2: index '1e2', expected a whole number", {.index_base = 1}},
        {"1 1\r 1\n", ":1: mode 2: index '1\\x0d', expected a whole number", {.index_base = 1}},
        {"1 1\n2\n", ":2: 1 column, expected 2: 1 index and a value, as line 1 says", {1, 0, {0}}},
        {"1 1 1 1\n1 1",
         ":2: the last line is cut off: 2 columns, expected 4: 3 indices and a "
         "value, as line 1 says",
         {1, 0, {0}}},
        {"1 1 1 1\n1 1 1 1 1",
         ":2: 5 columns, expected 4: 3 indices and a value, as line 1 says",
         {1, 0, {0}}},
        {"1 1 \x7f\n", ":1: value '\\x7f', expected a number", {1, 0, {0}}},
        {"1 1 1.5.5\n", ":1: value '1.5.5', expected a number", {1, 0, {0}}},
        {"1 1 -\n", ":1: value '-', expected a number", {1, 0, {0}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tns_sizes tiny = {100, 1};
        write_file(cases[i].text, strlen(cases[i].text));
        assert_refused(path, &cases[i].options, &usual, cases[i].message);
        assert_refused(path, &cases[i].options, &tiny, cases[i].message);
    }
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    assert_refused(folder, &one_based, &usual, ": is a directory, expected a file");
    assert_refused("/nowhere/x.tns", &one_based, &usual, ": No such file or directory");
    if (geteuid() != 0) {
        write_file("1 1\n", 4);
        assert_int_equal(chmod(path, 0), 0);
        assert_refused(path, &one_based, &usual, ": Permission denied");
        assert_int_equal(chmod(path, 0600), 0);
    }
    write_file("1 1\n# 8901234\n1 1\n", 18);
    struct tns_sizes sizes = {9, 1};
    assert_refused(path, &one_based, &sizes,
                   ":2: line of more than 9 bytes, expected indices and a value");
}

/* Wherever the bad line is among many, its number is right; of several the first one counts. */
static void one_bad_line_among_many(void **state)
{
    (void)state;
    enum { LINES = 20000 };
    char *text = malloc(LINES * 16 + 1);
    uint8_t *gzip = malloc(LINES * 16 + 2000);
    assert_true(text && gzip);
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {1 << 20, 64}, {3000, 100}};
    static const int where[] = {1, 2, 3, 999, 7777, 19999, 20000};
    for (size_t w = 0; w < sizeof where / sizeof *where; w++) {
        char *p = text;
        for (int i = 1; i <= LINES; i++) {
            bool bad = i == where[w] || (i > where[w] && i % 5000 == 0);
            if (i % 10 == 0 && !bad)
                p += sprintf(p, "# %d\n", i);
            else
                p += sprintf(p, "%d 7 %s\n", i, bad ? "bad" : "1");
        }
        char message[100];
        snprintf(message, sizeof message, ":%d: value 'bad', expected a number", where[w]);
        for (int i = 0; i < 6; i++) {
            size_t size = (size_t)(p - text);
            if (i % 2)
                write_file(gzip, compress_text(text, size, gzip));
            else
                write_file(text, size);
            assert_refused(path, &one_based, &sizes[i / 2], message);
        }
    }
    free(gzip);
    free(text);
}

/* A gzip file cut anywhere, or with any byte changed, is refused or, where the change does not
 * matter, read as it was. */
static void every_damage_to_gzip_is_found(void **state)
{
    (void)state;
    uint64_t seed = 7;
    char *text = random_text(3, 30, 1, &seed);
    size_t size = strlen(text);
    uint8_t *gzip = malloc(size + 1000);
    assert_non_null(gzip);
    size_t bytes = compress_text(text, size, gzip);
    struct entries expected;
    naive_parse(text, 1, &expected);
    for (size_t i = 0; i < bytes; i++) {
        struct coo x;
        struct tns_report report;
        struct error error;
        write_file(gzip, i);
        assert_int_equal(read_file(&x, &one_based, &usual, &report, &error), STATUS_INPUT);

        gzip[i] ^= 0x10;
        write_file(gzip, bytes);
        gzip[i] ^= 0x10;
        enum status status = read_file(&x, &one_based, &usual, &report, &error);
        if (status == STATUS_OK)
            assert_entries(&x, &expected); /* the header's time, system and flags */
        else
            assert_int_equal(status, STATUS_INPUT);
        /* Behind the header only the last bits before the trailer stand for nothing. */
        if (i >= 10 && i != bytes - 9)
            assert_int_equal(status, STATUS_INPUT);
        coo_free(&x);
    }
    free_entries(&expected);
    free(gzip);
    free(text);
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
    for (int compressed = 0; compressed < 2; compressed++) {
        if (compressed)
            write_file(gzip, compress_text(text, size, gzip));
        else
            write_file(text, size);
        long k = 0;
        for (bool fired = true; fired; k++) {
            struct coo x;
            struct tns_report report;
            struct error error;
            memory_hook_set(k);
            enum status status = read_file(&x, &one_based, &sizes, &report, &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            if (fired)
                assert_null(x.value);
            coo_free(&x);
        }
        assert_true(k > 10);
    }
    free(gzip);
    free(text);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/x.tns", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_sscanf_reads),
        cmocka_unit_test(header_dialects),
        cmocka_unit_test(limits_are_accepted),
        cmocka_unit_test(reads_from_pipes),
        cmocka_unit_test(does_not_wait_for_a_silent_pipe),
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(refuses_what_the_options_exclude),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(one_bad_line_among_many),
        cmocka_unit_test(every_damage_to_gzip_is_found),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
